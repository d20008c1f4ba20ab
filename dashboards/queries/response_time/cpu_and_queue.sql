-- What is beside the parts: CPU is spent inside them, queueing lies before all of them. Unknown is NULL, a gap, not 0;
-- so is an interval without transactions.
SELECT
    $__timeInterval(started_at) AS time,
    toNullable(avg(cpu_user_ns) / 1e6) AS "cpu user",
    toNullable(avg(cpu_system_ns) / 1e6) AS "cpu system",
    toNullable(avg(queue_ns) / 1e6) AS "queue"
FROM transactions
WHERE $__timeFilter(started_at)
    AND $__conditionalAll(service IN (${service:singlequote}), $service)
    AND $__conditionalAll(name IN (${kind:singlequote}), $kind)
GROUP BY time
ORDER BY time WITH FILL STEP ($__interval_s)
