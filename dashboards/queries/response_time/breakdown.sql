-- Time by family
-- The whole height is the mean response time, each nanosecond counted once, where it was spent; `other` is time in no measured call. Where calls overlap (threads, asyncio) the parts add up to more.
-- include points
SELECT time, place, series AS family, time_ns / nullIf(transactions, 0) AS ns
FROM
-- include series by=family share=time_ns of=all
ORDER BY time, place
