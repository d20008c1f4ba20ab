-- Time in waits for row locks
-- How long statements waited in a second, all together: 1 s is one statement that always waits. Of waits that ended.
-- include points
SELECT s.time AS time, s.place AS place, s.label AS server, s.row_lock_wait_ns / nullIf(s.over_ns, 0) * 1e9 AS value
FROM
-- include said_points
AS s
ORDER BY time, place
