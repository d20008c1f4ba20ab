-- The request in all services
-- Every transaction with this trace id, in the order they started. `calls kept` says why the calls were kept one by one; empty: only the bill was.
WITH
    unhex(extract(lower(${trace_id:singlequote}), '[0-9a-f]{32}')) AS asked,
    (
        SELECT argMax(trace_id, duration_ns)
        FROM transactions
        WHERE empty(asked)
            AND $__timeFilter(started_at)
            AND $__conditionalAll(service IN (${service:singlequote}), $service)
            AND $__conditionalAll(name IN (${kind:singlequote}), $kind)
    ) AS slowest
SELECT
    started_at AS "started",
    service AS "service",
    name AS "kind",
    duration_ns AS "took",
    other_ns AS "other",
    (cpu_user_ns + cpu_system_ns) AS "cpu",
    queue_ns AS "queue",
    if(is_error, if(error_type = '', 'failed', error_type), '') AS "error",
    if(http_status = 0, NULL, http_status) AS "status",
    host AS "host",
    kept AS "calls kept",
    lower(hex(trace_id)) AS "trace"
FROM transactions
WHERE trace_id = if(length(asked) = 16, toFixedString(asked, 16), slowest)
ORDER BY started_at
LIMIT 1 BY span_id
LIMIT 500
