-- One row a step that has transactions, and one of the whole window, from the transactions themselves.
SELECT
    intDiv(toUnixTimestamp64Nano(started_at) - {start_ns:Int64}, {step_s:Int64} * 1000000000) AS step,
    grouping(step) AS is_whole,
    count() AS transactions,
    countIf(transactions.is_error) AS errors,
    sum(transactions.duration_ns) AS time_ns,
    sum(transactions.other_ns) AS other_ns,
    quantilesTDigest(0.5, 0.95, 0.99)(transactions.duration_ns) AS percentiles_ns,
    percentiles_ns[1] AS p50_ns, percentiles_ns[2] AS p95_ns, percentiles_ns[3] AS p99_ns,
    COLUMNS('_(calls|time_ns)$') EXCEPT (custom_calls, custom_time_ns) APPLY sum,
    sumMap(transactions.custom_calls) AS custom_calls,
    sumMap(transactions.custom_time_ns) AS custom_time_ns
FROM {source:Identifier} AS transactions
WHERE
-- include _scope.sql
GROUP BY step WITH ROLLUP
