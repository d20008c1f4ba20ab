-- Who sends it
-- Kinds, and versions of their services, by time. `calls each` is of the transactions that send it: far above 1 is a loop that queries. A click on a kind shows it.
-- include window
SELECT
    service AS "service",
    kind AS "kind",
    version AS "version",
    sum(r.time_ns) / nullIf(sum(sum(r.time_ns)) OVER (), 0) AS "share",
    sum(r.calls) / (to_s - from_s) AS "per second",
    sum(r.calls) / nullIf(sum(r.transactions), 0) AS "calls each",
    sum(r.time_ns) / nullIf(sum(r.calls), 0) AS "per call",
    nullIf(sum(r.errors), 0) AS "errors"
FROM
-- include rows
AS r
GROUP BY service, kind, version
ORDER BY "share" DESC
LIMIT 100
