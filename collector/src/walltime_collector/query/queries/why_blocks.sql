-- How did the time, and the number of calls, go up and down? Each population in stretches of time that hold about equally many transactions;
-- of very many stretches every so-manieth, so that the answer stays short.
WITH
    fromUnixTimestamp64Nano({slow_start_ns:Int64}, 'UTC') AS slow_start, fromUnixTimestamp64Nano({slow_end_ns:Int64}, 'UTC') AS slow_end,
    fromUnixTimestamp64Nano({usual_start_ns:Int64}, 'UTC') AS usual_start, fromUnixTimestamp64Nano({usual_end_ns:Int64}, 'UTC') AS usual_end,
    started_at >= slow_start AND started_at < slow_end AND duration_ns >= {threshold_ns:UInt64} AS is_slow,
    toUnixTimestamp64Nano(started_at) AS started_ns,
    if(is_slow, intDiv(started_ns - {slow_start_ns:Int64}, {slow_block_ns:Int64}), intDiv(started_ns - {usual_start_ns:Int64}, {usual_block_ns:Int64})) AS block
SELECT
    is_slow,
    block,
    count() AS transactions,
    sum(duration_ns) AS total_ns,
    COLUMNS('_calls$') EXCEPT (custom_calls) APPLY sum,
    sumMap(custom_calls) AS custom_calls
FROM transactions
WHERE service = {service:String} AND name = {name:String}
    AND (started_at >= slow_start AND started_at < slow_end OR started_at >= usual_start AND started_at < usual_end)
    AND block % if(is_slow, {slow_every:UInt32}, {usual_every:UInt32}) = 0
GROUP BY is_slow, block
ORDER BY is_slow, block
