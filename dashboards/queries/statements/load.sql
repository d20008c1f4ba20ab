-- Load by statement
-- Average active statements: the time transactions wait for each, divided by the time that passed. 1.0 is one call open at any moment.
-- include points
SELECT time, place, series AS statement, time_ns / 1e9 / seconds AS active
FROM
-- include series by=substring(statement,1,44) share=of_time of=all
ORDER BY time, place
