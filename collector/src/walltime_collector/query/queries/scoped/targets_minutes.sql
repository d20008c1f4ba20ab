-- The same from the sums per minute.
SELECT
    component,
    address,
    sum(t.calls) AS calls,
    sum(t.time_ns) AS time_ns,
    sum(t.errors) AS errors,
    sum(t.hits) AS hits,
    sum(t.misses) AS misses
FROM targets_1m AS t
WHERE
-- include _scope_minutes.sql
GROUP BY component, address
ORDER BY time_ns DESC, component, address
LIMIT {limit:UInt32}
