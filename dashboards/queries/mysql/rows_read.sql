-- Rows read per second
-- From indexes and tables. Much more than are sent: a missing index.
-- include points
SELECT s.time AS time, s.place AS place, s.label AS server, s.rows_read / nullIf(s.over_ns, 0) * 1e9 AS value
FROM
-- include said_points
AS s
ORDER BY time, place
