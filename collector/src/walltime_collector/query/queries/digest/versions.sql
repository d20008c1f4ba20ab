-- Which versions of which services sent a statement, in which kinds, since when, and what did it cost?
SELECT
    service, name, version, toInt64(toUnixTimestamp(min(minute))) AS first_s, sum(s.transactions) AS transactions, sum(s.calls) AS calls,
    sum(s.time_ns) AS time_ns
FROM statements_1m AS s
WHERE text IN {texts:Array(String)}
GROUP BY service, name, version
ORDER BY time_ns DESC, service, name, version
LIMIT {limit:UInt32}
