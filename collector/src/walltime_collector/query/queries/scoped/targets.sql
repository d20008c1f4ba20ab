-- What did each component cost on each server? From the sums of whole minutes, and one by one beside them,
-- there of every n-th step.
SELECT
    component,
    address,
    sum(each.calls) AS calls,
    sum(each.time_ns) AS time_ns,
    sum(each.errors) AS errors,
    sum(each.hits) AS hits,
    sum(each.misses) AS misses
FROM
(
    SELECT component, address, calls, time_ns, errors, hits, misses
    FROM targets_1m
    WHERE
-- include _whole_minutes.sql
    UNION ALL -- beside whole minutes
    SELECT
        called.component, called.address, sum(called.calls), sum(called.time_ns), sum(called.errors), sum(called.hits),
        sum(called.misses)
    FROM {source:Identifier} AS transactions
    ARRAY JOIN target AS called
    WHERE
-- include _beside_minutes.sql
        AND ({every:UInt32} = 1 OR intDiv(toUnixTimestamp64Nano(started_at) - {start_ns:Int64}, {chart_step_ns:Int64}) % {every:UInt32} = 0)
    GROUP BY called.component, called.address
) AS each
GROUP BY component, address
ORDER BY time_ns DESC, component, address
LIMIT {limit:UInt32}
