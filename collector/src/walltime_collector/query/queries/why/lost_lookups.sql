-- Do transactions with more lost lookups (a miss, or a call that failed or was skipped) make more calls of other components?
WITH
-- include why/_compared.sql
SELECT
    is_slow,
    least(
        toUInt64(memcache_get_misses) + memcache_get_errors + more_counters['walltime.memcache.get.skipped']
            + arraySum(arrayMap(
                (component, misses, errors) -> if(component IN ('redis.get', 'redis.mget', 'redis.hget', 'redis.hmget', 'redis.hgetall'), toUInt64(misses) + errors, 0),
                target.component, target.misses, target.errors)),
        1000) AS lost,
    count() AS transactions,
    COLUMNS('_calls$') EXCEPT (custom_calls) APPLY sum,
    sumMap(custom_calls) AS custom_calls
FROM transactions
WHERE is_compared
GROUP BY is_slow, lost
ORDER BY is_slow, lost
