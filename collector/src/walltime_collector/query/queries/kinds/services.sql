-- All services that stored transactions, or comments in the slow log, name.
SELECT service
FROM (SELECT DISTINCT service FROM transactions_1m UNION DISTINCT SELECT DISTINCT service FROM slow_queries)
WHERE service != ''
ORDER BY service
LIMIT 10000
