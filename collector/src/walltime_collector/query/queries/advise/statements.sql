-- Which statements does each kind send, in how many of its transactions, how often, and what do they cost?
SELECT service, name, text, sum(transactions) AS transactions, sum(calls) AS calls, sum(time_ns) AS time_ns
FROM
(
    SELECT service, name, text, transactions, calls, time_ns
    FROM statements_1m
    WHERE
-- include _whole_minutes.sql
    UNION ALL -- beside whole minutes
    SELECT service, name, sent.text, 1, sent.calls, sent.time_ns
    FROM {source:Identifier} AS transactions
    ARRAY JOIN statement AS sent
    WHERE
-- include _beside_minutes.sql
)
GROUP BY service, name, text
ORDER BY time_ns DESC, service, name, text
LIMIT {limit:UInt32}
