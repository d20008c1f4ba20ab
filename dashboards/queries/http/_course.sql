-- include points
SELECT
    time, place, series AS server,
    calls / seconds AS "per second",
    nullIf(errors, 0) / calls AS failed,
    time_ns / 1e9 / seconds AS load,
    time_ns / nullIf(calls, 0) AS "per request"
FROM
-- include series by=server share=greatest(of_time,of_calls) of=all
ORDER BY time, place
