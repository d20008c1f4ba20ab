-- How many lookups of keys with this prefix hit, in kept transactions of each side?
WITH
-- include why/_keys.sql
SELECT if(is_slow, 'slow', 'usual') AS side, uniqExact(trace_id) AS transactions, sum(lookups.keys) AS keys, sum(lookups.hits) AS hits
FROM lookups
WHERE prefix = {prefix:String}
GROUP BY side
ORDER BY side
