-- What did each component cost on each server?
SELECT
    target.component AS component,
    target.address AS address,
    sum(target.calls) AS calls,
    sum(target.time_ns) AS time_ns,
    sum(target.errors) AS errors,
    sum(target.hits) AS hits,
    sum(target.misses) AS misses
FROM transactions
ARRAY JOIN target.component, target.address, target.calls, target.time_ns, target.errors, target.hits, target.misses
WHERE
-- include _scope.sql
GROUP BY component, address
ORDER BY time_ns DESC, component, address
LIMIT {limit:UInt32}
