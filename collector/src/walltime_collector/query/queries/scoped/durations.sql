-- How long did the transactions take, all together? From the sums of whole minutes, and one by one beside them.
SELECT
    sum(counted) AS transactions,
    sum(failed) AS errors,
    sum(sum_ns) AS total_ns,
    max(longest_ns) AS max_ns,
    arrayMap(each -> if(isNaN(each), 0, each), quantilesTDigestMerge(0.5, 0.95, 0.99)(states)) AS percentiles_ns,
    percentiles_ns[1] AS p50_ns, percentiles_ns[2] AS p95_ns, percentiles_ns[3] AS p99_ns
FROM
(
    SELECT
        sum(t.transactions) AS counted,
        sum(t.errors) AS failed,
        sum(t.duration_ns) AS sum_ns,
        max(t.max_ns) AS longest_ns,
        quantilesTDigestMergeState(0.5, 0.95, 0.99)(t.percentiles_ns) AS states
    FROM transactions_1m AS t
    WHERE
-- include _whole_minutes.sql
    UNION ALL -- beside whole minutes
    SELECT
        count(), countIf(is_error), sum(duration_ns), max(duration_ns), quantilesTDigestState(0.5, 0.95, 0.99)(duration_ns)
    FROM {source:Identifier} AS transactions
    WHERE
-- include _beside_minutes.sql
)
