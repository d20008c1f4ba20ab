-- Which components on which servers does each kind call, in how many of its transactions, how often, and what do they
-- cost? `call_ns` is of a typical minute, or transaction beside whole minutes: no single call decides.
SELECT
    service, name, component, address, sum(transactions) AS transactions, sum(each.calls) AS calls, sum(each.time_ns) AS time_ns,
    sum(hits) AS hits, sum(misses) AS misses, sum(errors) AS errors, quantileExactWeighted(0.5)(each.time_ns / greatest(each.calls, 1), each.calls) AS call_ns
FROM
(
    SELECT service, name, component, address, transactions, calls, time_ns, hits, misses, errors
    FROM targets_1m
    WHERE
-- include _whole_minutes.sql
    UNION ALL -- beside whole minutes
    SELECT
        service, name, called.component, called.address, 1, called.calls, called.time_ns, called.hits, called.misses, called.errors
    FROM {source:Identifier} AS transactions
    ARRAY JOIN target AS called
    WHERE
-- include _beside_minutes.sql
) AS each
GROUP BY service, name, component, address
ORDER BY time_ns DESC, service, name, component, address
LIMIT {limit:UInt32}
