-- include points
SELECT
    time, place, series AS server,
    calls / seconds AS "per second",
    time_ns / nullIf(calls, 0) AS "per call",
    if(hits + misses = 0, NULL, hits / (hits + misses)) AS "hit ratio",
    misses / seconds AS missed,
    nullIf(errors, 0) / seconds AS failed
FROM
-- include series by=server share=of_calls of=all
ORDER BY time, place
