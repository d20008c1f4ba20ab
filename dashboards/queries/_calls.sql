-- include points
SELECT
    time, place, series AS component,
    calls / nullIf(transactions, 0) AS calls_each,
    time_ns / nullIf(calls, 0) AS ns
FROM
-- include series by=component share=greatest(of_time,of_calls) of=all
WHERE series != 'other'
ORDER BY time, place
