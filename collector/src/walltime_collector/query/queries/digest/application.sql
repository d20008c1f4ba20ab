-- Which statements take the applications' time, and which kinds of transaction send them?
SELECT
    text,
    service,
    name,
    sum(calls) AS calls,
    sum(time_ns) AS time_ns,
    sum(errors) AS errors,
    sum(time_ns) OVER () AS all_time_ns
FROM transactions
ARRAY JOIN
    statement.text AS text,
    statement.calls AS calls,
    statement.time_ns AS time_ns,
    statement.errors AS errors
WHERE started_at >= fromUnixTimestamp64Nano({since_ns:Int64}, 'UTC')
    AND ({service:String} = '' OR service = {service:String})
GROUP BY text, service, name
ORDER BY time_ns DESC, text, service, name
LIMIT {limit:UInt32}
