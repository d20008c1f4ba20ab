-- Temporary tables on disk per second
-- Made for statements that sort or group more than memory allows.
-- include points
SELECT s.time AS time, s.place AS place, s.label AS server, s.tmp_tables_on_disk / nullIf(s.over_ns, 0) * 1e9 AS value
FROM
-- include said_points
AS s
ORDER BY time, place
