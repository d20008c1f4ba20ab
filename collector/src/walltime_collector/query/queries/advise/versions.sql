-- Since when is each version of these services seen, in the last days?
SELECT service, version, toInt64(toUnixTimestamp(min(minute))) AS first_s
FROM transactions_1m
WHERE service IN {services:Array(String)} AND minute >= toDateTime({from_s:Int64}, 'UTC') AND version != ''
GROUP BY service, version
ORDER BY first_s, service, version
