-- Do the transactions that lose more lookups (a miss, or a call that failed or was skipped) make more calls of other components?
WITH
    fromUnixTimestamp64Nano({slow_start_ns:Int64}, 'UTC') AS slow_start, fromUnixTimestamp64Nano({slow_end_ns:Int64}, 'UTC') AS slow_end,
    fromUnixTimestamp64Nano({usual_start_ns:Int64}, 'UTC') AS usual_start, fromUnixTimestamp64Nano({usual_end_ns:Int64}, 'UTC') AS usual_end,
    started_at >= slow_start AND started_at < slow_end AND duration_ns >= {threshold_ns:UInt64} AS is_slow
SELECT
    is_slow,
    least(
        toUInt64(memcache_get_misses) + memcache_get_errors + toUInt64OrZero(attributes['walltime.memcache.get.skipped'])
            + arraySum(arrayMap(
                (component, misses, errors) -> if(component IN ('redis.get', 'redis.mget', 'redis.hget', 'redis.hmget', 'redis.hgetall'), toUInt64(misses) + errors, 0),
                target.component, target.misses, target.errors)),
        1000) AS lost,
    count() AS transactions,
    COLUMNS('_calls$') EXCEPT (custom_calls) APPLY sum,
    sumMap(custom_calls) AS custom_calls
FROM transactions
WHERE service = {service:String} AND name = {name:String}
    AND (started_at >= slow_start AND started_at < slow_end OR started_at >= usual_start AND started_at < usual_end)
GROUP BY is_slow, lost
ORDER BY is_slow, lost
