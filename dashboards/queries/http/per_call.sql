-- Time per request by host
-- From the first byte sent until the response is there, opening its connection included. One step up is ten times as long.
-- include points
SELECT time, place, series AS server, time_ns / nullIf(calls, 0) AS value
FROM
-- include series by=server share=time_ns of=all
ORDER BY time, place
