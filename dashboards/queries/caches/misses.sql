-- Misses per second by server
-- Each is work for the database behind the cache.
-- include points
SELECT time, place, series AS server, misses / seconds AS value
FROM
-- include series by=server share=misses of=all
ORDER BY time, place
