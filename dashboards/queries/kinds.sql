-- Which kinds of transaction take the time, and on what? With the slowest of each, and the last whose calls were kept.
SELECT
    service,
    name AS kind,
    sum(duration_ns) / sum(sum(duration_ns)) OVER () AS "share",
    count() AS "transactions",
    countIf(is_error) / count() AS "failed",
    avg(duration_ns) / 1e6 AS "mean",
    (quantilesTDigest(0.5, 0.95, 0.99)(duration_ns) AS percentiles_ns)[1] / 1e6 AS "p50",
    percentiles_ns[2] / 1e6 AS "p95",
    percentiles_ns[3] / 1e6 AS "p99",
    arraySum([COLUMNS('^mysql_.+_time_ns$') APPLY sum]) / count() / 1e6 AS "mysql",
    arraySum([COLUMNS('^memcache_.+_time_ns$') APPLY sum]) / count() / 1e6 AS "memcache",
    arraySum([COLUMNS('^http_.+_time_ns$') APPLY sum]) / count() / 1e6 AS "http",
    sum(arraySum(mapValues(custom_time_ns))) / count() / 1e6 AS "own",
    sum(other_ns) / count() / 1e6 AS "other",
    lower(hex(argMax(trace_id, duration_ns))) AS "slowest",
    if(countIf(kept != '') = 0, '', lower(hex(argMaxIf(trace_id, started_at, kept != '')))) AS "with its calls"
FROM transactions
WHERE $__timeFilter(started_at)
    AND $__conditionalAll(service IN (${service:singlequote}), $service)
    AND $__conditionalAll(name IN (${kind:singlequote}), $kind)
GROUP BY service, name
ORDER BY "share" DESC
LIMIT 200
