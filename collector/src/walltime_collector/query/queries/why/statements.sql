-- What did each statement cost?
-- Both sides are in one row, those that differ most per transaction first.
WITH
-- include why/_compared.sql
SELECT
    sent.text AS statement,
    sumIf(sent.calls, NOT is_slow) AS usual_calls, sumIf(sent.calls, is_slow) AS slow_calls,
    sumIf(sent.time_ns, NOT is_slow) AS usual_time_ns, sumIf(sent.time_ns, is_slow) AS slow_time_ns,
    sumIf(sent.errors, NOT is_slow) AS usual_errors, sumIf(sent.errors, is_slow) AS slow_errors
FROM transactions
ARRAY JOIN statement AS sent
WHERE is_compared
GROUP BY statement
ORDER BY abs(slow_time_ns / {slow_transactions:UInt64} - usual_time_ns / {usual_transactions:UInt64}) DESC, statement
LIMIT {limit:UInt32}
