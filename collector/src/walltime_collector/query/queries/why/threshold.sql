-- From which duration on is a transaction among the slowest of its kind?
SELECT quantileExactHigh({level:Float64})(duration_ns) AS threshold_ns
FROM transactions
WHERE service = {service:String} AND name = {kind:String}
    AND started_at >= fromUnixTimestamp64Nano({start_ns:Int64}, 'UTC') AND started_at < fromUnixTimestamp64Nano({end_ns:Int64}, 'UTC')
-- include _filters.sql
-- include _some_minutes.sql
