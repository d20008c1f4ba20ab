-- Kinds that call them
-- Means of a transaction that calls the host. A click shows the kind.
-- include window
SELECT
    service AS "service",
    kind AS "kind",
    server AS "server",
    sum(r.time_ns) / nullIf(sum(sum(r.time_ns)) OVER (), 0) AS "share",
    sum(r.calls) / nullIf(sumIf(r.transactions, r.calls > 0), 0) AS "calls each",
    sum(r.time_ns) / nullIf(sumIf(r.transactions, r.calls > 0), 0) AS "per transaction"
FROM
-- include rows
AS r
GROUP BY service, kind, server
ORDER BY "share" DESC
LIMIT 100
