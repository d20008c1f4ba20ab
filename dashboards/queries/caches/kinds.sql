-- Kinds that call them
-- `calls each` is of a transaction that makes such a call to a server. A click shows the kind.
-- include window
SELECT
    service AS "service",
    kind AS "kind",
    component AS "component",
    sum(r.time_ns) / nullIf(sum(sum(r.time_ns)) OVER (), 0) AS "share",
    sum(r.calls) / nullIf(sum(r.transactions), 0) AS "calls each",
    sum(r.time_ns) / nullIf(sum(r.calls), 0) AS "per call",
    sum(r.hits) / nullIf(sum(r.hits) + sum(r.misses), 0) AS "hit ratio",
    nullIf(sum(r.misses), 0) AS "misses",
    nullIf(sum(r.errors), 0) AS "errors"
FROM
-- include rows
AS r
GROUP BY service, kind, component
ORDER BY "share" DESC
LIMIT 100
