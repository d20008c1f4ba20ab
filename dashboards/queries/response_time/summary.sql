-- How is it going, over the whole time shown? The rate is that of the part of it in which there is data at all.
-- Times are in nanoseconds. Where there is no transaction they are NULL, not NaN.
SELECT
    count() / greatest(
        1,
        toUnixTimestamp(($__toTime)) - (SELECT toUnixTimestamp(min(started_at)) FROM transactions WHERE $__timeFilter(started_at))
    ) AS "per second",
    if(count() = 0, NULL, countIf(is_error) / count()) AS "failed",
    if(count() = 0, NULL, avg(duration_ns)) AS "mean",
    if(count() = 0, NULL, (quantilesTDigest(0.5, 0.95, 0.99)(duration_ns) AS percentiles_ns)[1]) AS "p50",
    if(count() = 0, NULL, percentiles_ns[2]) AS "p95",
    if(count() = 0, NULL, percentiles_ns[3]) AS "p99",
    if(count() = 0, NULL, max(duration_ns)) AS "slowest"
FROM transactions
WHERE $__timeFilter(started_at)
    AND $__conditionalAll(service IN (${service:singlequote}), $service)
    AND $__conditionalAll(name IN (${kind:singlequote}), $kind)
