-- Load: transactions busy at once
-- The time spent in each family, divided by the time that passed: how many transactions are in it at any moment. 1.0 keeps one worker busy.
-- include points
SELECT time, place, series AS family, time_ns / 1e9 / seconds AS busy
FROM
-- include series by=family share=time_ns of=all
ORDER BY time, place
