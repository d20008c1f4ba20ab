-- What did a statement cost on each day, for the applications?
SELECT toInt64(toUnixTimestamp(toStartOfDay(minute))) AS day_s, sum(s.calls) AS calls, sum(s.time_ns) AS time_ns
FROM statements_1m AS s
WHERE text IN {texts:Array(String)}
GROUP BY day_s
ORDER BY day_s
