-- What did a cache say of itself in the time of each side? Rates are means of seconds; their variance is that of blocks of 10 s.
SELECT
    side,
    count() AS blocks,
    sum(over_s) AS seconds,
    sum(block_evictions) AS evictions,
    sum(block_hits) AS hits,
    sum(block_misses) AS misses,
    sum(block_unread) AS unread_evictions,
    evictions / seconds AS evictions_per_s,
    varPop(block_evictions / over_s) AS evictions_variance,
    sum(block_ping_ns) / sum(block_pings) AS ping_ns,
    varPop(block_ping_ns / block_pings) AS ping_variance,
    max(block_max_bytes) AS max_bytes
FROM
(
    SELECT
        multiIf(
            at >= fromUnixTimestamp64Nano({slow_start_ns:Int64}, 'UTC') AND at < fromUnixTimestamp64Nano({slow_end_ns:Int64}, 'UTC'), 'slow',
            at >= fromUnixTimestamp64Nano({usual_start_ns:Int64}, 'UTC') AND at < fromUnixTimestamp64Nano({usual_end_ns:Int64}, 'UTC'), 'usual',
            '') AS side,
        sum(over_ns) / 1e9 AS over_s,
        sum(cache_status.evictions) AS block_evictions,
        sum(cache_status.hits) AS block_hits,
        sum(cache_status.misses) AS block_misses,
        sum(others['evicted_unfetched']) AS block_unread,
        sum(others['ping_ns']) AS block_ping_ns,
        sum(others['pings']) AS block_pings,
        max(cache_status.max_bytes) AS block_max_bytes
    FROM cache_status
    WHERE server = {server:String} AND side != ''
    GROUP BY side, toStartOfInterval(at, INTERVAL 10 SECOND)
)
GROUP BY side
ORDER BY side
