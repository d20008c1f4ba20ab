-- Pages read from disk
-- Of all that was read from the buffer pool. A working set that fits into it has nearly none.
-- include points
SELECT s.time AS time, s.place AS place, s.label AS server, s.page_misses / nullIf(s.page_requests, 0) AS value
FROM
-- include said_points
AS s
ORDER BY time, place
