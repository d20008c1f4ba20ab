-- One row a step that has transactions, and one of the whole window, from the sums per minute; steps are whole minutes.
SELECT
    intDiv(toUnixTimestamp(minute) - intDiv({start_ns:Int64}, 1000000000), {step_s:Int64}) AS step,
    grouping(step) AS is_whole,
    sum(t.transactions) AS transactions,
    sum(t.errors) AS errors,
    sum(t.duration_ns) AS time_ns,
    sum(t.other_ns) AS other_ns,
    quantilesTDigestMerge(0.5, 0.95, 0.99)(t.percentiles_ns) AS percentiles_ns,
    percentiles_ns[1] AS p50_ns, percentiles_ns[2] AS p95_ns, percentiles_ns[3] AS p99_ns,
    COLUMNS('_(calls|time_ns)$') EXCEPT (custom_calls, custom_time_ns) APPLY sum,
    sumMap(t.custom_calls) AS custom_calls,
    sumMap(t.custom_time_ns) AS custom_time_ns
FROM transactions_1m AS t
WHERE
-- include _scope_minutes.sql
GROUP BY step WITH ROLLUP
