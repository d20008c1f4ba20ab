-- The caches that bills of this time name, those with the most calls first.
SELECT address, argMax(system, calls) AS system
FROM
(
    SELECT address, if(startsWith(component, 'redis.'), 'redis', 'memcached') AS system, sum(calls) AS calls
    FROM targets_1m
    WHERE (startsWith(component, 'memcache.') OR startsWith(component, 'redis.')) AND minute >= toStartOfMinute(now('UTC') - {within_s:Int64})
    GROUP BY address, system
)
GROUP BY address
ORDER BY max(calls) DESC, address
LIMIT 10000
