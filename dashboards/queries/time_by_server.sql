-- How long does one call take on each server, over time? Where nobody called there is no point.
SELECT
    $__timeInterval(started_at) AS time,
    component || ' ' || address AS on_server,
    sum(time_ns) / sum(calls) / 1e6 AS ms
FROM transactions
ARRAY JOIN target.component AS component, target.address AS address, target.calls AS calls, target.time_ns AS time_ns
WHERE $__timeFilter(started_at)
    AND $__conditionalAll(service IN (${service:singlequote}), $service)
    AND $__conditionalAll(name IN (${kind:singlequote}), $kind)
    AND calls > 0
GROUP BY time, component, address
ORDER BY time, on_server
