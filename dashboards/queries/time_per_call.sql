-- Time per call
-- Slower calls than usual: look at the server that answers them. One step up is ten times as long.
-- include points
SELECT time, place, series AS component, time_ns / nullIf(calls, 0) AS ns
FROM
-- include series by=component share=time_ns of=all
WHERE series != 'other'
ORDER BY time, place
