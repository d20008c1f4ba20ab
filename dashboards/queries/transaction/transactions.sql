-- The request in all services
-- Its transactions in the order they started. The bar is the time by family. CPU, and waiting for a CPU, are inside the other times; the queue lies before them.
-- include shown
SELECT
    service AS "service",
    kind AS "kind",
    duration_ns AS "took",
    -- include bar
    AS "time by family",
    cpu_ns / nullIf(cpu_known, 0) AS "cpu",
    cpu_wait_ns / nullIf(cpu_wait_known, 0) AS "cpu wait",
    queue_ns / nullIf(queue_known, 0) AS "queue",
    nullIf(if(is_error AND error_type = '', 'failed', error_type), '') AS "error",
    nullIf(http_status, 0) AS "status",
    nullIf(user, '') AS "user",
    host AS "host"
FROM
(
    SELECT
        *,
        [mysql_ns, memcache_ns, redis_ns, http_ns, python_ns, framework_ns, application_ns, view_ns, other_ns] AS parts,
        max(arraySum(parts)) OVER () AS widest
    FROM kinds_each
    WHERE trace_id = shown
)
ORDER BY started_at
LIMIT 500
