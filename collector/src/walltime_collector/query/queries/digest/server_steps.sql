-- What did a statement cost the database, in each step of the window, according to its slow log?
SELECT
    intDiv(toUnixTimestamp(toDateTime(started_at)), {step_s:Int64}) AS step,
    sum(weight) AS calls,
    sum(query_ns * weight) AS time_ns
FROM slow_queries
WHERE
-- include _log_scope.sql
GROUP BY step
ORDER BY step
