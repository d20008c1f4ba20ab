-- Time per call by server
-- One of several equal servers that stands out is the one to look at. One step up is ten times as long.
-- include points
SELECT time, place, series AS server, time_ns / nullIf(calls, 0) AS value
FROM
-- include series by=server share=calls of=all
ORDER BY time, place
