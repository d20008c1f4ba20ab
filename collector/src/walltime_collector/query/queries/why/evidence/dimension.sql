-- The transactions of each side that have a value, and those that do not have it.
WITH
-- include why/_compared.sql
    ,
-- include why/_weight.sql
    ,
    true
    -- value
    AS has_value
SELECT
    if(is_slow, 'slow', 'usual') AS side,
    sumIf(weight, has_value) AS number,
    number / sum(weight) AS share,
    sumIf(weight * duration_ns, has_value) / number AS mean_ns,
    sumIf(weight * duration_ns, NOT has_value) / sumIf(weight, NOT has_value) AS rest_mean_ns
FROM transactions
WHERE is_compared
GROUP BY side
ORDER BY side
