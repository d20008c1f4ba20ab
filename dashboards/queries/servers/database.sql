-- MySQL
-- All MySQL servers together, over the time shown, as the application sees them.
SELECT
    if(count() = 0, NULL, sum(mysql_query_calls) / count()) AS "queries per transaction",
    if(sum(mysql_query_calls) = 0, NULL, sum(mysql_query_time_ns) / sum(mysql_query_calls)) AS "per query",
    if(count() = 0, NULL, sum(mysql_connect_calls) / count()) AS "connects per transaction",
    arraySum([COLUMNS('^mysql_.+_errors$') APPLY sum]) AS "errors",
    sum(mysql_query_deadlocks) AS "deadlocks",
    sum(mysql_query_lock_timeouts) AS "lock timeouts"
FROM transactions
WHERE $__timeFilter(started_at)
    AND $__conditionalAll(service IN (${service:singlequote}), $service)
    AND $__conditionalAll(name IN (${kind:singlequote}), $kind)
