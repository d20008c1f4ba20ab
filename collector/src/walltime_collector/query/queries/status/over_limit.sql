-- Services over the limit of names, and how many of their transactions were stored as `_OTHER` since the start of yesterday.
SELECT service, sum(transactions) AS transactions
FROM transactions_1m
WHERE minute >= toStartOfDay(now()) - INTERVAL 1 DAY AND name = '_OTHER'
GROUP BY service
ORDER BY transactions DESC, service
LIMIT 20
