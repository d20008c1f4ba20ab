-- Requests per second by host
-- With those that failed.
-- include points
SELECT time, place, series AS server, calls / seconds AS value
FROM
-- include series by=server share=calls of=all
ORDER BY time, place
