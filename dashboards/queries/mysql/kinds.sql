-- Kinds that call it
-- `load` is how many of their calls are open at once; `calls each` are the queries of a transaction that sends some. A click shows the kind.
-- include window
SELECT
    service AS "service",
    kind AS "kind",
    sum(r.time_ns) / 1e9 / (to_s - from_s) AS "load",
    sum(r.time_ns) / nullIf(sum(sum(r.time_ns)) OVER (), 0) AS "share",
    sumIf(r.calls, component = 'mysql.query') / nullIf(sumIf(r.transactions, component = 'mysql.query'), 0) AS "calls each",
    sumIf(r.time_ns, component = 'mysql.query') / nullIf(sumIf(r.calls, component = 'mysql.query'), 0) AS "per query",
    nullIf(sum(r.errors), 0) AS "errors"
FROM
-- include rows
AS r
GROUP BY service, kind
ORDER BY "load" DESC
LIMIT 100
