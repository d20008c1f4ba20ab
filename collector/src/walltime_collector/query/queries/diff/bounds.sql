-- Which transactions of each kind are far longer than the others: longer than 4 times the time that 95 of 100, and all but one, do
-- not exceed (statistics/tails.py)? Exact where they are few, else by a t-digest.
WITH arraySort(groupArray(1000)(duration_ns)) AS first
SELECT
    service,
    name,
    count() AS transactions,
    4 * if(transactions <= 1000, first[transactions - greatest(toUInt64(ceil(0.05 * transactions)), 1)], toUInt64(quantileTDigest(0.95)(duration_ns)))
        AS bound_ns
FROM {source:Identifier} AS transactions
WHERE
-- include _scope.sql
GROUP BY service, name
HAVING transactions > 1
