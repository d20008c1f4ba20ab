-- Kinds of transaction, by their time in MySQL
-- A click on a kind shows its response time. `queries` are means per transaction.
SELECT
    service AS "service",
    name AS "kind",
    arraySum([COLUMNS('^mysql_.+_time_ns$') APPLY sum]) AS "time",
    sum(mysql_query_calls) / count() AS "queries",
    if(sum(mysql_query_calls) = 0, NULL, sum(mysql_query_time_ns) / sum(mysql_query_calls)) AS "per query"
FROM transactions
WHERE $__timeFilter(started_at)
    AND $__conditionalAll(service IN (${service:singlequote}), $service)
    AND $__conditionalAll(name IN (${kind:singlequote}), $kind)
GROUP BY service, name
HAVING "time" > 0
ORDER BY "time" DESC
LIMIT 200
