-- On which servers
-- `hit ratio` is of the keys asked for.
-- include shown
SELECT
    component AS "component",
    server AS "server",
    sum(time_ns) AS "time",
    sum(time_ns) / nullIf(sum(s.calls), 0) AS "per call",
    sum(hits) / nullIf(sum(hits) + sum(misses), 0) AS "hit ratio"
FROM servers_each AS s
WHERE trace_id = shown
GROUP BY component, server
ORDER BY "time" DESC
LIMIT 500
