-- Observed servers
-- Which servers the collector asks.
-- include window
SELECT
    if(observed > 0,
        concat(toString(observed), ' of ', toString(greatest(observed, called)), if(called > 1, ' servers say', ' server says'), ' how they are: the panels below are of these.'),
        'No server is observed in this time. walltime serve --memcached 10.0.0.7:11211 (docs/observing.md)'
    ) AS "sentence"
FROM
(
    SELECT
        (SELECT uniqExact(server) FROM cache_status WHERE at >= from_at AND at < to_at) AS observed,
        (SELECT uniqExact(server) FROM servers_by_minute WHERE minute >= from_at AND minute < to_at AND family IN ('memcache', 'redis')) AS called
)
