-- What is beside the parts: CPU is spent inside them, queueing lies before all of them. Unknown is a gap, not 0.
SELECT
    $__timeInterval(started_at) AS time,
    avg(cpu_user_ns) / 1e6 AS "cpu user",
    avg(cpu_system_ns) / 1e6 AS "cpu system",
    avg(queue_ns) / 1e6 AS "queue"
FROM transactions
WHERE $__timeFilter(started_at)
    AND $__conditionalAll(service IN (${service:singlequote}), $service)
    AND $__conditionalAll(name IN (${kind:singlequote}), $kind)
GROUP BY time
ORDER BY time
