-- How many transactions of a kind are there on one side, how many failed, how many are single ones, and how long did the others take?
SELECT
    count() AS transactions,
    countIf(is_error) AS errors,
    countIf(duration_ns > {bound_ns:UInt64}) AS singles,
    countIf(duration_ns <= {bound_ns:UInt64} AND ({with_failed:Bool} OR NOT is_error)) AS timed,
    avgIf(duration_ns, duration_ns <= {bound_ns:UInt64} AND ({with_failed:Bool} OR NOT is_error)) AS mean_ns
FROM {source:Identifier} AS transactions
WHERE
-- include _scope.sql
