-- Services
-- What arrived from each. `no route`: they have only a method as their name. `too many names`: they are stored as `_OTHER`. `in other` is the share of time in no measured call.
-- include window
SELECT
    service AS "service",
    sum(k.transactions) AS "transactions",
    uniqExact(kind) AS "kinds",
    nullIf(sumIf(k.transactions, kind IN ('GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS')), 0) / sum(k.transactions) AS "no route",
    nullIf(sumIf(k.transactions, kind = '_OTHER'), 0) / sum(k.transactions) AS "too many names",
    sum(other_ns) / nullIf(sum(duration_ns), 0) AS "in other",
    max(time) AS "last seen"
FROM
-- include kinds
AS k
GROUP BY service
ORDER BY "transactions" DESC
LIMIT 100
