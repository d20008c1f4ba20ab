-- Many calls of one statement in a transaction: a query in a loop
SELECT name, text,
    round(sum(calls) / sum(transactions), 1) AS calls_per_transaction,
    round(sum(time_ns) / 1e9, 2) AS total_s
FROM statements_1m
WHERE minute > now() - INTERVAL 1 HOUR
GROUP BY name, text
HAVING calls_per_transaction >= 2
ORDER BY total_s DESC
LIMIT 20
