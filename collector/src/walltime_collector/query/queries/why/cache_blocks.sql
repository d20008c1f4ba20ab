-- The same as evidence/cache_status.sql, for each side in {blocks} blocks of equal time.
SELECT
    at >= fromUnixTimestamp64Nano({slow_start_ns:Int64}, 'UTC') AND at < fromUnixTimestamp64Nano({slow_end_ns:Int64}, 'UTC') AS is_slow,
    intDiv((toUnixTimestamp64Milli(at) * 1000000 - if(is_slow, {slow_start_ns:Int64}, {usual_start_ns:Int64})) * {blocks:Int64},
        if(is_slow, {slow_end_ns:Int64} - {slow_start_ns:Int64}, {usual_end_ns:Int64} - {usual_start_ns:Int64})) AS block,
    sum(over_ns) / 1e9 AS seconds,
    sum(cache_status.hits) AS hits,
    sum(cache_status.misses) AS misses,
    sum(cache_status.evictions) AS evictions,
    sum(others['evicted_unfetched']) AS unread_evictions,
    sum(others['ping_ns']) AS ping_ns,
    sum(others['pings']) AS pings,
    max(cache_status.max_bytes) AS max_bytes
FROM cache_status
WHERE server = {server:String} AND (is_slow OR at >= fromUnixTimestamp64Nano({usual_start_ns:Int64}, 'UTC')
    AND at < fromUnixTimestamp64Nano({usual_end_ns:Int64}, 'UTC'))
GROUP BY is_slow, block
ORDER BY is_slow, block
