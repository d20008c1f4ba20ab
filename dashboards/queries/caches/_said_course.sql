-- include points
SELECT
    s.time AS time, s.place AS place, s.label AS server,
    s.hits / nullIf(s.hits + s.misses, 0) AS "hit ratio",
    s.commands / nullIf(s.over_ns, 0) * 1e9 AS "per second",
    s.evictions / nullIf(s.over_ns, 0) * 1e9 AS evicted,
    s.expired / nullIf(s.over_ns, 0) * 1e9 AS expired,
    if(s.over_ns > 0, s.most_connected, NULL) AS connected,
    if(s.over_ns > 0, s.most_bytes / nullIf(s.max_bytes, 0), NULL) AS used
FROM
-- include said_points
AS s
ORDER BY time, place
