-- Which kinds of transaction take the time, and on what? With the slowest of each, and the last whose calls were kept.
SELECT
    service,
    name AS kind,
    sum(duration_ns) / nullIf(sum(sum(duration_ns)) OVER (), 0) AS "share",
    count() AS "transactions",
    countIf(is_error) / count() AS "failed",
    avg(duration_ns) AS "mean",
    quantileTDigest(0.95)(duration_ns) AS "p95",
    arraySum([COLUMNS('^mysql_.+_time_ns$') APPLY sum]) / count() AS "mysql",
    arraySum([COLUMNS('^memcache_.+_time_ns$') APPLY sum]) / count() AS "memcache",
    arraySum([COLUMNS('^http_.+_time_ns$') APPLY sum]) / count() AS "http",
    sum(arraySum(mapValues(custom_time_ns))) / count() AS "own",
    sum(other_ns) / count() AS "other",
    lower(hex(argMax(trace_id, duration_ns))) AS "slowest",
    if(countIf(kept != '') = 0, '', lower(hex(argMaxIf(trace_id, started_at, kept != '')))) AS "detailed"
FROM transactions
WHERE $__timeFilter(started_at)
    AND $__conditionalAll(service IN (${service:singlequote}), $service)
    AND $__conditionalAll(name IN (${kind:singlequote}), $kind)
GROUP BY service, name
ORDER BY "share" DESC
LIMIT 200
