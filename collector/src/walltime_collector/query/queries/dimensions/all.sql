-- All transactions in blocks of time, as in blocks.sql: what the means of a sample are worth.
WITH
    toUnixTimestamp64Nano(started_at) AS started_ns,
-- include why/_compared.sql
SELECT
    is_slow,
    if(is_slow, intDiv(started_ns - {slow_start_ns:Int64}, {slow_block_ns:Int64}), intDiv(started_ns - {usual_start_ns:Int64}, {usual_block_ns:Int64})) AS block,
    count() AS transactions,
    sum(duration_ns) AS total_ns
FROM transactions
WHERE is_compared
GROUP BY is_slow, block
