-- All stored kinds with the number of their transactions in the two windows, to find a name that was cut, copied or mistyped.
SELECT
    service,
    name,
    countIf(started_at >= fromUnixTimestamp64Nano({slow_start_ns:Int64}, 'UTC') AND started_at < fromUnixTimestamp64Nano({slow_end_ns:Int64}, 'UTC')) AS slow,
    countIf(started_at >= fromUnixTimestamp64Nano({usual_start_ns:Int64}, 'UTC') AND started_at < fromUnixTimestamp64Nano({usual_end_ns:Int64}, 'UTC')) AS usual
FROM transactions
WHERE {service:String} = '' OR service = {service:String}
GROUP BY service, name
ORDER BY count() DESC, service, name
LIMIT 200000
