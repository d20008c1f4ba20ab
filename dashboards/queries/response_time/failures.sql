-- Failures
-- The share of the transactions that failed: with an exception or a status of 500 or more.
-- include points
SELECT time, nullIf(errors, 0) / transactions AS failed
FROM
-- include kind_points
ORDER BY time
