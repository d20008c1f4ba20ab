-- What did each statement cost?
-- Both sides are in one row, those that differ most per transaction first.
WITH
    fromUnixTimestamp64Nano({slow_start_ns:Int64}, 'UTC') AS slow_start, fromUnixTimestamp64Nano({slow_end_ns:Int64}, 'UTC') AS slow_end,
    fromUnixTimestamp64Nano({usual_start_ns:Int64}, 'UTC') AS usual_start, fromUnixTimestamp64Nano({usual_end_ns:Int64}, 'UTC') AS usual_end,
    started_at >= slow_start AND started_at < slow_end AND duration_ns >= {threshold_ns:UInt64} AS is_slow
SELECT
    statement.text AS statement,
    sumIf(statement.calls, NOT is_slow) AS usual_calls, sumIf(statement.calls, is_slow) AS slow_calls,
    sumIf(statement.time_ns, NOT is_slow) AS usual_time_ns, sumIf(statement.time_ns, is_slow) AS slow_time_ns,
    sumIf(statement.errors, NOT is_slow) AS usual_errors, sumIf(statement.errors, is_slow) AS slow_errors
FROM transactions
ARRAY JOIN statement.text, statement.calls, statement.time_ns, statement.errors
WHERE service = {service:String} AND name = {name:String}
    AND (started_at >= slow_start AND started_at < slow_end OR started_at >= usual_start AND started_at < usual_end)
GROUP BY statement
ORDER BY abs(slow_time_ns / {slow_transactions:UInt64} - usual_time_ns / {usual_transactions:UInt64}) DESC, statement
LIMIT {limit:UInt32}
