-- The bill
-- Each nanosecond once: the parts of a transaction add up to what it took, to more where calls overlap.
-- include shown
SELECT
    if(uniqExact(service) OVER () = 1, c.component, concat(c.component, ' · ', service)) AS "component",
    sum(time_ns) AS "time",
    sum(time_ns) / nullIf(sum(sum(time_ns)) OVER (PARTITION BY service, kind), 0) AS "share",
    nullIf(sum(c.calls), 0) AS "calls",
    sum(time_ns) / nullIf(sum(c.calls), 0) AS "per call",
    nullIf(max(c.max_ns), 0) AS "longest",
    nullIf(sum(c.errors), 0) AS "errors"
FROM components_each AS c
WHERE trace_id = shown
GROUP BY service, kind, c.component
ORDER BY min(started_at), "time" DESC
LIMIT 500
