-- The request
-- The first transaction of the request. CPU is spent inside the other times, the queue lies before them.
WITH
    unhex(extract(lower(${trace_id:singlequote}), '[0-9a-f]{32}')) AS asked,
    (
        SELECT argMax(trace_id, duration_ns)
        FROM transactions
        WHERE empty(asked)
            AND $__timeFilter(started_at)
            AND $__conditionalAll(service IN (${service:singlequote}), $service)
            AND $__conditionalAll(name IN (${kind:singlequote}), $kind)
    ) AS slowest
SELECT
    duration_ns AS "took",
    arraySum([COLUMNS('^mysql_.+_time_ns$')]) AS "mysql",
    mysql_query_calls AS "queries",
    arraySum([COLUMNS('^memcache_.+_time_ns$')]) AS "memcache",
    memcache_get_misses AS "misses",
    arraySum([COLUMNS('^http_.+_time_ns$')]) AS "http",
    arraySum(mapValues(custom_time_ns)) AS "application",
    other_ns AS "other",
    (cpu_user_ns + cpu_system_ns) AS "cpu",
    queue_ns AS "queue"
FROM transactions
WHERE trace_id = if(length(asked) = 16, toFixedString(asked, 16), slowest)
ORDER BY started_at
LIMIT 1
