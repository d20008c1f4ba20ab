-- How many transactions are in a Scope, how long did they take, and how many calls were not made, because their server was
-- known to be dead (by component: it is not counted by server)?
SELECT sum(transactions) AS transactions, sum(duration_ns) AS total_ns, sumMap(skipped) AS skipped
FROM
(
    SELECT transactions, duration_ns, mapFilter((key, value) -> endsWith(key, '.skipped'), more_counters) AS skipped
    FROM transactions_1m
    WHERE
-- include _whole_minutes.sql
    UNION ALL -- beside whole minutes
    SELECT 1, duration_ns, mapFilter((key, value) -> endsWith(key, '.skipped'), more_counters) AS skipped
    FROM {source:Identifier} AS transactions
    WHERE
-- include _beside_minutes.sql
)
