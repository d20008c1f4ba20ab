-- More than 5 % of a kind fail
-- Of the last 10 minutes; kinds with at least 50 transactions.
SELECT service, kind, sum(k.errors) / sum(k.transactions) AS share
FROM kinds_by_minute AS k
WHERE minute >= now() - INTERVAL 10 MINUTE AND service != 'walltime.doctor'
GROUP BY service, kind
HAVING sum(k.transactions) >= 50
ORDER BY share DESC
