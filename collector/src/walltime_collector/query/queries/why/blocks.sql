-- How did the time, and the number of calls, change over time? Each population in blocks of time with about equally many transactions;
-- of very many blocks only every n-th, so that the answer stays short.
WITH
    toUnixTimestamp64Nano(started_at) AS started_ns,
    if(is_slow, intDiv(started_ns - {slow_start_ns:Int64}, {slow_block_ns:Int64}), intDiv(started_ns - {usual_start_ns:Int64}, {usual_block_ns:Int64})) AS block,
-- include why/_compared.sql
SELECT
    is_slow,
    block,
    count() AS transactions,
    sum(duration_ns) AS total_ns,
    COLUMNS('_calls$') EXCEPT (custom_calls) APPLY sum,
    sumMap(custom_calls) AS custom_calls
FROM transactions
WHERE is_compared AND block % if(is_slow, {slow_every:UInt32}, {usual_every:UInt32}) = 0
GROUP BY is_slow, block
ORDER BY is_slow, block
