-- The stored kinds, or those with this name, with the number of their transactions in the two windows.
-- Whole minutes of a window are read from the sums per minute, only the rest of it from the transactions: those of all
-- retention are too many to read for a name.
WITH
    toDateTime(intDiv({slow_start_ns:Int64} + 59999999999, 60000000000) * 60, 'UTC') AS slow_first,
    toDateTime(intDiv({slow_end_ns:Int64}, 60000000000) * 60, 'UTC') AS slow_last,
    toDateTime(intDiv({usual_start_ns:Int64} + 59999999999, 60000000000) * 60, 'UTC') AS usual_first,
    toDateTime(intDiv({usual_end_ns:Int64}, 60000000000) * 60, 'UTC') AS usual_last
SELECT service, name, sum(each.slow) AS slow, sum(each.usual) AS usual
FROM
(
    SELECT
        service, name, transactions,
        if(minute >= slow_first AND minute < slow_last, transactions, 0) AS slow,
        if(minute >= usual_first AND minute < usual_last, transactions, 0) AS usual
    FROM transactions_1m
    WHERE ({service:String} = '' OR service = {service:String}) AND ({name:String} = '' OR name = {name:String})
    UNION ALL
    SELECT service, name, 0 AS transactions, is_slow AS slow, is_usual AS usual
    FROM
    (
        SELECT
            service, name,
            started_at >= fromUnixTimestamp64Nano({slow_start_ns:Int64}, 'UTC') AND started_at < fromUnixTimestamp64Nano({slow_end_ns:Int64}, 'UTC')
                AND (started_at < slow_first OR started_at >= slow_last) AS is_slow,
            started_at >= fromUnixTimestamp64Nano({usual_start_ns:Int64}, 'UTC') AND started_at < fromUnixTimestamp64Nano({usual_end_ns:Int64}, 'UTC')
                AND (started_at < usual_first OR started_at >= usual_last) AS is_usual
        FROM transactions
        WHERE ({service:String} = '' OR service = {service:String}) AND ({name:String} = '' OR name = {name:String}) AND (is_slow OR is_usual)
    )
) AS each
GROUP BY service, name
ORDER BY sum(transactions) DESC, service, name
LIMIT 200000
