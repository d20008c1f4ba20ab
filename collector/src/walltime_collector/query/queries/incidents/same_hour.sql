-- How was this kind in the hour around the same time of each of the last seven days?
SELECT
    intDiv({start_s:Int64} - toInt64(toUnixTimestamp(minute)) + 1800, 86400) AS day,
    sum(t.transactions) AS transactions,
-- include incidents/_typical.sql
    AS typical_ns
FROM transactions_1m AS t
WHERE service = {service:String} AND name = {kind:String}
    AND minute >= toDateTime({start_s:Int64} - 7 * 86400 - 1800, 'UTC')
    AND minute < toDateTime({start_s:Int64} - 86400 + 1800, 'UTC')
    AND abs({start_s:Int64} - toInt64(toUnixTimestamp(minute)) - day * 86400) < 1800
GROUP BY day
HAVING transactions > 0
ORDER BY day
