-- How many transactions does each minute of the two windows have, also those that are partly in them? From the sums per minute.
SELECT toUnixTimestamp(minute) AS minute_s, sum(each.transactions) AS transactions
FROM transactions_1m AS each
WHERE service = {service:String} AND name = {kind:String}
    AND (
        minute >= toDateTime(intDiv({slow_start_ns:Int64}, 1000000000) - 59, 'UTC') AND minute < toDateTime(intDiv({slow_end_ns:Int64}, 1000000000) + 1, 'UTC')
        OR minute >= toDateTime(intDiv({usual_start_ns:Int64}, 1000000000) - 59, 'UTC') AND minute < toDateTime(intDiv({usual_end_ns:Int64}, 1000000000) + 1, 'UTC'))
GROUP BY minute_s
ORDER BY minute_s
