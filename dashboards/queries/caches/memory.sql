-- Memory in use
-- Of the memory allowed. Full is normal for a cache; then look at what is evicted.
-- include points
SELECT s.time AS time, s.place AS place, s.label AS server, if(s.over_ns > 0, s.most_bytes / nullIf(s.max_bytes, 0), NULL) AS value
FROM
-- include said_points
AS s
ORDER BY time, place
