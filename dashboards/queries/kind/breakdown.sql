-- Time by component
-- The whole height is the mean response time, each nanosecond counted once, in the component it was spent in; `other` is time in no measured call. Where calls overlap (threads, asyncio) the parts add up to more.
-- include points
SELECT time, place, series AS component, time_ns / nullIf(transactions, 0) AS ns
FROM
-- include series by=component share=of_time of=all
ORDER BY time, place
