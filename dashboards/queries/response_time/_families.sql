-- include points
SELECT time, place, series AS family, time_ns / nullIf(transactions, 0) AS ns, time_ns / 1e9 / seconds AS busy
FROM
-- include series by=family share=of_time of=all
ORDER BY time, place
