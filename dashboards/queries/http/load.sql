-- Load by host
-- How many requests are open at once: the time spent in each host, divided by the time that passed.
-- include points
SELECT time, place, series AS server, time_ns / 1e9 / seconds AS value
FROM
-- include series by=server share=time_ns of=all
ORDER BY time, place
