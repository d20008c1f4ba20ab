-- Which clocks are ahead of the database's, or behind that of the calling service?
-- A transaction in the future, or before the first one of its trace, shows a wrong clock.
SELECT service, host, max(ahead_ns) AS ahead_ns, max(behind_ns) AS behind_ns
FROM
(
    SELECT service, host, toInt64(toUnixTimestamp64Nano(started_at)) - toInt64(toUnixTimestamp64Nano(now64(9))) AS ahead_ns, 0 AS behind_ns
    FROM transactions
    WHERE started_at > now64(9) + INTERVAL 1 SECOND
    UNION ALL
    SELECT called.service, called.host, 0, toInt64(toUnixTimestamp64Nano(root.root_at)) - toInt64(toUnixTimestamp64Nano(called.started_at))
    FROM
    (
        SELECT trace_id, service, host, started_at
        FROM transactions
        WHERE started_at >= now() - INTERVAL 15 MINUTE AND parent_span_id != toFixedString('', 8)
    ) AS called
    INNER JOIN
    (
        SELECT trace_id, min(started_at) AS root_at
        FROM transactions
        WHERE started_at >= now() - INTERVAL 15 MINUTE AND parent_span_id = toFixedString('', 8)
        GROUP BY trace_id
    ) AS root ON root.trace_id = called.trace_id
    WHERE called.started_at < root.root_at - INTERVAL 10 MILLISECOND
)
WHERE service != 'walltime.doctor'
GROUP BY service, host
ORDER BY service, host
LIMIT 100
