-- Which transactions took longest, and on what?
SELECT
    started_at AS "started",
    service,
    name AS kind,
    duration_ns AS "took",
    arraySum([COLUMNS('^mysql_.+_time_ns$')]) AS "mysql",
    mysql_query_calls AS "queries",
    arraySum([COLUMNS('^memcache_.+_time_ns$')]) AS "memcache",
    memcache_get_misses AS "misses",
    arraySum([COLUMNS('^http_.+_time_ns$')]) AS "http",
    arraySum(mapValues(custom_time_ns)) AS "own",
    other_ns AS "other",
    if(is_error, if(error_type = '', 'failed', error_type), '') AS "error",
    kept AS "calls kept",
    lower(hex(trace_id)) AS "trace"
FROM transactions
WHERE $__timeFilter(started_at)
    AND $__conditionalAll(service IN (${service:singlequote}), $service)
    AND $__conditionalAll(name IN (${kind:singlequote}), $kind)
ORDER BY duration_ns DESC
LIMIT 100
