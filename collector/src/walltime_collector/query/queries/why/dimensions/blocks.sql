-- The candidates (value 1, 2, …; 0 is all transactions) in blocks of time, without the transactions of those that are named already.
WITH
    toUnixTimestamp64Nano(started_at) AS started_ns,
-- include why/_compared.sql
    ,
-- include why/_weight.sql
    ,
-- include why/dimensions/_hashes.sql
    AS hashes
SELECT
    value,
    is_slow,
    if(is_slow, intDiv(started_ns - {slow_start_ns:Int64}, {slow_block_ns:Int64}), intDiv(started_ns - {usual_start_ns:Int64}, {usual_block_ns:Int64})) AS block,
    sum(weight) AS number,
    sum(weight * duration_ns) AS total_ns,
    sum(weight * least(duration_ns, {longest_ns:UInt64})) AS capped_ns,
    sum(weight * log(greatest(duration_ns, 1))) AS logarithms
FROM transactions
ARRAY JOIN arrayConcat([0], arrayFilter(at -> at > 0, arrayMap(hash -> indexOf({candidates:Array(UInt64)}, hash), hashes))) AS value
WHERE is_compared AND NOT hasAny(hashes, {named:Array(UInt64)})
GROUP BY value, is_slow, block
