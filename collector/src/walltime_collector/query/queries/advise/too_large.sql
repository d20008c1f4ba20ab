-- Which memcached refused values because they are too large, and how many?
SELECT server, toUInt64(sum(others['store_too_large'])) AS refused
FROM cache_status
WHERE at >= fromUnixTimestamp64Nano({start_ns:Int64}, 'UTC') AND at < fromUnixTimestamp64Nano({end_ns:Int64}, 'UTC')
GROUP BY server
HAVING refused > 0
ORDER BY server
