-- Items evicted per second
-- Removed before they expired, because the memory was full.
-- include points
SELECT s.time AS time, s.place AS place, s.label AS server, s.evictions / nullIf(s.over_ns, 0) * 1e9 AS value
FROM
-- include said_points
AS s
ORDER BY time, place
