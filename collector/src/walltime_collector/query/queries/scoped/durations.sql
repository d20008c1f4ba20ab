-- How long did the transactions take, all together?
SELECT
    count() AS transactions,
    countIf(is_error) AS errors,
    sum(duration_ns) AS total_ns,
    max(duration_ns) AS max_ns,
    quantilesTDigest(0.5, 0.95, 0.99)(duration_ns) AS percentiles_ns
FROM transactions
WHERE
-- include _scope.sql
