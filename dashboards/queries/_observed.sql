SELECT
    if(observed > 0,
        concat(toString(observed), ' of ', toString(greatest(observed, called)), if(called > 1, ' servers say', ' server says'), ' how they are: the panels below are of these.'),
        concat('No server is observed in this time. ', how, ' (docs/observing.md)')
    ) AS "sentence"
FROM
(
    SELECT
        (SELECT uniqExact(server) FROM {of}_status WHERE at >= from_at AND at < to_at) AS observed,
        (SELECT uniqExact(server) FROM servers_by_minute WHERE minute >= from_at AND minute < to_at AND family IN {families}) AS called
)
