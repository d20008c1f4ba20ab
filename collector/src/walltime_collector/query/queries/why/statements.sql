-- What did each statement cost?
-- Both sides are in one row, those that differ most per transaction first.
WITH
-- include why/_compared.sql
    ,
-- include why/_weight.sql
SELECT
    sent.text AS statement,
    toUInt64(round(sumIf(sent.calls * weight, NOT is_slow))) AS usual_calls, toUInt64(round(sumIf(sent.calls * weight, is_slow))) AS slow_calls,
    toUInt64(round(sumIf(sent.time_ns * weight, NOT is_slow))) AS usual_time_ns, toUInt64(round(sumIf(sent.time_ns * weight, is_slow))) AS slow_time_ns,
    toUInt64(round(sumIf(sent.errors * weight, NOT is_slow))) AS usual_errors, toUInt64(round(sumIf(sent.errors * weight, is_slow))) AS slow_errors
FROM transactions
ARRAY JOIN statement AS sent
WHERE is_compared
GROUP BY statement
ORDER BY abs(slow_time_ns / {slow_transactions:Float64} - usual_time_ns / {usual_transactions:Float64}) DESC, statement
LIMIT {limit:UInt32}
