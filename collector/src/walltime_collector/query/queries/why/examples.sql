-- Which transactions are typical of a population? As long as its mean, preferably with kept calls.
-- One population at a time: ORDER BY … LIMIT then reads the other columns of three rows only.
SELECT
    lower(hex(trace_id)) AS trace,
    toUnixTimestamp64Nano(started_at) AS started_ns,
    duration_ns,
    kept
FROM transactions
WHERE service = {service:String} AND name = {kind:String}
    AND started_at >= fromUnixTimestamp64Nano({start_ns:Int64}, 'UTC') AND started_at < fromUnixTimestamp64Nano({end_ns:Int64}, 'UTC')
-- include _filters.sql
-- include _some_minutes.sql
    -- when
    AND duration_ns BETWEEN {least_ns:UInt64} AND {most_ns:UInt64}
ORDER BY abs(log((duration_ns + 1) / ({mean_ns:Float64} + 1))) + if(kept = '', 0.3, 0), started_at
LIMIT 3
