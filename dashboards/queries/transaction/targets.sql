-- The servers it talked to
-- One line per component and server.
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
    component AS "component",
    address AS "server",
    time_ns AS "time",
    calls AS "calls",
    if(calls > 0, time_ns / calls, NULL) AS "per call",
    if(hits + misses > 0, hits / (hits + misses), NULL) AS "hit ratio",
    if(hits + misses = 0, NULL, misses) AS "misses",
    errors AS "errors",
    service AS "service",
    name AS "kind"
FROM transactions
ARRAY JOIN
    target.component AS component, target.address AS address, target.calls AS calls, target.time_ns AS time_ns,
    target.errors AS errors, target.hits AS hits, target.misses AS misses
WHERE trace_id = if(length(asked) = 16, toFixedString(asked, 16), slowest)
ORDER BY time_ns DESC
LIMIT 1 BY span_id, component, address
LIMIT 2000
