-- Its statements
-- As the application wrote them: many calls of the same one are a loop that queries.
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
    text AS "statement",
    time_ns AS "time",
    time_ns / nullIf(duration_ns, 0) AS "share",
    calls AS "calls",
    if(calls > 0, time_ns / calls, NULL) AS "per call",
    errors AS "errors",
    service AS "service",
    name AS "kind"
FROM transactions
ARRAY JOIN
    statement.text AS text, statement.calls AS calls, statement.time_ns AS time_ns, statement.errors AS errors
WHERE trace_id = if(length(asked) = 16, toFixedString(asked, 16), slowest)
ORDER BY time_ns DESC
LIMIT 1 BY span_id, text
LIMIT 2000
