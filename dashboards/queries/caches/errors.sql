-- Failed calls per second by server
-- Refused connections, time-outs: the application goes on without the cache.
-- include points
SELECT time, place, series AS server, nullIf(errors, 0) / seconds AS value
FROM
-- include series by=server share=calls of=all
ORDER BY time, place
