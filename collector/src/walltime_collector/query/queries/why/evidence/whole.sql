-- How many transactions has each side, and how long do they take? `typical_ns` is without single very long ones.
WITH
-- include why/_compared.sql
SELECT
    if(is_slow, 'slow', 'usual') AS side,
    count() AS number,
    avg(duration_ns) AS mean_ns,
    avgIf(duration_ns, NOT is_single) AS typical_ns
FROM transactions
WHERE is_of_a_side
GROUP BY side
ORDER BY side
