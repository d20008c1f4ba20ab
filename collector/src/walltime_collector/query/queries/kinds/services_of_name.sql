-- Which services have a kind of this name, with how many transactions in the two windows?
SELECT
    service,
    countIf(started_at >= fromUnixTimestamp64Nano({slow_start_ns:Int64}, 'UTC') AND started_at < fromUnixTimestamp64Nano({slow_end_ns:Int64}, 'UTC')) AS slow,
    countIf(started_at >= fromUnixTimestamp64Nano({usual_start_ns:Int64}, 'UTC') AND started_at < fromUnixTimestamp64Nano({usual_end_ns:Int64}, 'UTC')) AS usual
FROM transactions
WHERE name = {name:String} AND ({service:String} = '' OR service = {service:String})
GROUP BY service
ORDER BY service
LIMIT 100
