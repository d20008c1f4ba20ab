-- What did each component cost on each server?
-- Both sides are in one row, those that differ most per transaction first.
WITH
-- include why/_compared.sql
    ,
-- include why/_weight.sql
SELECT
    called.component AS component,
    called.address AS address,
    toUInt64(round(sumIf(called.calls * weight, NOT is_slow))) AS usual_calls, toUInt64(round(sumIf(called.calls * weight, is_slow))) AS slow_calls,
    toUInt64(round(sumIf(called.time_ns * weight, NOT is_slow))) AS usual_time_ns, toUInt64(round(sumIf(called.time_ns * weight, is_slow))) AS slow_time_ns,
    toUInt64(round(sumIf(called.errors * weight, NOT is_slow))) AS usual_errors, toUInt64(round(sumIf(called.errors * weight, is_slow))) AS slow_errors,
    toUInt64(round(sumIf(called.hits * weight, NOT is_slow))) AS usual_hits, toUInt64(round(sumIf(called.hits * weight, is_slow))) AS slow_hits,
    toUInt64(round(sumIf(called.misses * weight, NOT is_slow))) AS usual_misses, toUInt64(round(sumIf(called.misses * weight, is_slow))) AS slow_misses
FROM transactions
ARRAY JOIN target AS called
WHERE is_compared
GROUP BY component, address
ORDER BY abs(slow_time_ns / {slow_transactions:Float64} - usual_time_ns / {usual_transactions:Float64}) DESC, component, address
LIMIT {limit:UInt32}
