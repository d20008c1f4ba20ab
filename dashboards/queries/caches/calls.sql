-- Calls per second by server
-- Equal servers should get about equally many.
-- include points
SELECT time, place, series AS server, calls / seconds AS value
FROM
-- include series by=server share=calls of=all
ORDER BY time, place
