-- The services that have more names than may be, and how many of their transactions went under `_OTHER` since yesterday began.
SELECT service, sum(transactions) AS transactions
FROM transactions_1m
WHERE minute >= toStartOfDay(now()) - INTERVAL 1 DAY AND name = '_OTHER'
GROUP BY service
ORDER BY transactions DESC, service
LIMIT 20
