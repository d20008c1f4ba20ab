-- How were the transactions of each population answered, and how long did they take? A status by its class; without one, whether it failed.
WITH
    fromUnixTimestamp64Nano({slow_start_ns:Int64}, 'UTC') AS slow_start, fromUnixTimestamp64Nano({slow_end_ns:Int64}, 'UTC') AS slow_end,
    fromUnixTimestamp64Nano({usual_start_ns:Int64}, 'UTC') AS usual_start, fromUnixTimestamp64Nano({usual_end_ns:Int64}, 'UTC') AS usual_end,
    started_at >= slow_start AND started_at < slow_end AND duration_ns >= {threshold_ns:UInt64} AS is_slow
SELECT
    is_slow,
    multiIf(http_status > 0, concat(toString(intDiv(http_status, 100)), 'xx'), is_error, 'failed', 'no status') AS status,
    count() AS transactions,
    sum(duration_ns) AS total_ns
FROM transactions
WHERE service = {service:String} AND name = {name:String}
    AND (started_at >= slow_start AND started_at < slow_end OR started_at >= usual_start AND started_at < usual_end)
GROUP BY is_slow, status
ORDER BY is_slow, status
