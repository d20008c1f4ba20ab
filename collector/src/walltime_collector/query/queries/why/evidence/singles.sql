-- How many transactions of each side are longer than the bound, and what do they add to its mean?
WITH
-- include why/_compared.sql
SELECT
    if(is_slow, 'slow', 'usual') AS side,
    countIf(is_single) AS singles,
    avg(duration_ns) - avgIf(duration_ns, NOT is_single) AS ns,
    count() AS transactions,
    max(duration_ns) AS longest_ns
FROM transactions
WHERE is_of_a_side
GROUP BY side
ORDER BY side
