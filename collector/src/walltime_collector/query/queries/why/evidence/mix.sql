-- The share of those with a value, the mean of each side, and the mean where the usual side has the mix of the slow one.
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
    count() AS number,
    countIf(has_value) / number AS share,
    avg(duration_ns) AS mean_ns,
    sum(weight) / number AS part_with_usual_ones,
    sum(weight * duration_ns) / sum(weight) AS like_with_like_mean_ns
FROM transactions
WHERE is_compared
GROUP BY side
ORDER BY side
