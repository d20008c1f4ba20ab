-- What did a cache say of itself in the time of each side?
SELECT
    multiIf(
        at >= fromUnixTimestamp64Nano({slow_start_ns:Int64}, 'UTC') AND at < fromUnixTimestamp64Nano({slow_end_ns:Int64}, 'UTC'), 'slow',
        at >= fromUnixTimestamp64Nano({usual_start_ns:Int64}, 'UTC') AND at < fromUnixTimestamp64Nano({usual_end_ns:Int64}, 'UTC'), 'usual',
        '') AS side,
    sum(over_ns) / 1e9 AS seconds,
    sum(cache_status.hits) AS hits,
    sum(cache_status.misses) AS misses,
    sum(cache_status.evictions) AS evictions,
    sum(others['evicted_unfetched']) AS unread_evictions,
    sum(others['ping_ns']) AS ping_ns,
    sum(others['pings']) AS pings,
    max(cache_status.max_bytes) AS max_bytes
FROM cache_status
WHERE server = {server:String} AND side != ''
GROUP BY side
ORDER BY side
