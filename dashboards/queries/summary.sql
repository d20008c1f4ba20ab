-- How is it going, over the whole time shown? The rate is that of the part of it in which there is data at all.
SELECT
    count() / greatest(
        1,
        toUnixTimestamp(($__toTime)) - (SELECT toUnixTimestamp(min(started_at)) FROM transactions WHERE $__timeFilter(started_at))
    ) AS "per second",
    countIf(is_error) / count() AS "failed",
    avg(duration_ns) / 1e6 AS "mean",
    (quantilesTDigest(0.5, 0.95, 0.99)(duration_ns) AS percentiles_ns)[1] / 1e6 AS "p50",
    percentiles_ns[2] / 1e6 AS "p95",
    percentiles_ns[3] / 1e6 AS "p99",
    max(duration_ns) / 1e6 AS "slowest"
FROM transactions
WHERE $__timeFilter(started_at)
    AND $__conditionalAll(service IN (${service:singlequote}), $service)
    AND $__conditionalAll(name IN (${kind:singlequote}), $kind)
