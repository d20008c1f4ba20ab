-- What does each server cost, in each step of the window? All servers, or one address.
SELECT
    component,
    address,
    sum(s.calls) AS calls,
    sum(s.time_ns) AS time_ns,
    sum(s.errors) AS errors,
    sum(s.hits) AS hits,
    sum(s.misses) AS misses,
    uniqExactMerge(kinds_state) AS kinds,
    groupArray((step, s.calls, s.time_ns, s.errors, s.hits, s.misses)) AS steps
FROM
(
    SELECT
        component, address, step, sum(calls) AS calls, sum(time_ns) AS time_ns, sum(errors) AS errors, sum(hits) AS hits,
        sum(misses) AS misses, uniqExactState(service, name) AS kinds_state
    FROM
    (
-- include servers/_calls.sql
    )
    GROUP BY component, address, step
) AS s
GROUP BY component, address
ORDER BY time_ns DESC, component, address
LIMIT {limit:UInt32}
