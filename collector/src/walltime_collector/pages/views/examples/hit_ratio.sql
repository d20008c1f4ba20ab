SELECT minute, address, round(100 * sum(hits) / sum(hits + misses), 1) AS hit_percent
FROM targets_1m
WHERE minute > now() - INTERVAL 1 HOUR AND component = 'memcache.get'
GROUP BY minute, address
HAVING sum(hits + misses) > 0
ORDER BY minute, address
