-- How long do transactions take: the middle one, the 95th and the 99th of 100? An interval without any is NULL, a gap.
SELECT
    $__timeInterval(started_at) AS time,
    toNullable((quantilesTDigest(0.5, 0.95, 0.99)(duration_ns) AS percentiles_ns)[1] / 1e6) AS "p50",
    toNullable(percentiles_ns[2] / 1e6) AS "p95",
    toNullable(percentiles_ns[3] / 1e6) AS "p99"
FROM transactions
WHERE $__timeFilter(started_at)
    AND $__conditionalAll(service IN (${service:singlequote}), $service)
    AND $__conditionalAll(name IN (${kind:singlequote}), $kind)
GROUP BY time
ORDER BY time WITH FILL STEP ($__interval_s)
