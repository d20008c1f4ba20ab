-- These servers (value 1, 2, …) in blocks of time: transactions that called them and those with failed calls.
-- Calls of one transaction fail together, so transactions are counted.
WITH
    toUnixTimestamp64Nano(started_at) AS started_ns,
-- include why/_compared.sql
SELECT
    indexOf({servers:Array(String)}, concat(called.component, ' ', called.address)) AS value,
    is_slow,
    if(is_slow, intDiv(started_ns - {slow_start_ns:Int64}, {slow_block_ns:Int64}), intDiv(started_ns - {usual_start_ns:Int64}, {usual_block_ns:Int64})) AS block,
    count() AS transactions,
    countIf(called.errors > 0) AS failed
FROM transactions
ARRAY JOIN target AS called
WHERE is_compared AND value > 0
GROUP BY value, is_slow, block
