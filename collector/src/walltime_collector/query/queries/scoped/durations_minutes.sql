-- The same from the sums per minute.
SELECT
    sum(t.transactions) AS transactions,
    sum(t.errors) AS errors,
    sum(t.duration_ns) AS total_ns,
    max(t.max_ns) AS max_ns,
    quantilesTDigestMerge(0.5, 0.95, 0.99)(t.percentiles_ns) AS percentiles_ns
FROM transactions_1m AS t
WHERE
-- include _scope_minutes.sql
