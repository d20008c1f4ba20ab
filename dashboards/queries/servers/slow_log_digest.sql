-- Statements, as MySQL's slow log has them
-- By total time on the server; waits and rows examined and sent are means per call. A cell is empty where the server does not report it. MariaDB reports no wait for row locks: `likely row lock` is its time in the storage engine that neither disk nor pages explain.
WITH
    row_lock_ns > 0 OR mapContains(fields, 'InnoDB_pages_distinct') AS is_row_lock_known
SELECT
    any(fingerprint) AS "statement",
    sum(query_ns * weight) AS "time",
    sum(query_ns * weight) / nullIf(sum(sum(query_ns * weight)) OVER (), 0) AS "share",
    sum(weight) AS "calls",
    sum(query_ns * weight) / sum(weight) AS "per call",
    sum(lock_ns * weight) / sum(weight) AS "lock wait",
    sumIf(row_lock_ns * weight, is_row_lock_known) / nullIf(sumIf(weight, is_row_lock_known), 0) AS "row lock",
    nullIf(sum(likely_row_lock_ns * weight), 0) / sum(weight) AS "likely row lock",
    sum(rows_examined * weight) / sum(weight) AS "examined",
    sum(rows_sent * weight) / sum(weight) AS "sent",
    nullIf(sumIf(weight, is_full_scan), 0) / sum(weight) AS "full scans",
    if(countIf(trace_id != toFixedString('', 16)) = 0, '',
        lower(hex(argMaxIf(trace_id, query_ns, trace_id != toFixedString('', 16))))) AS "example"
FROM slow_queries
WHERE $__timeFilter(started_at)
    AND $__conditionalAll(service IN (${service:singlequote}), $service)
    AND $__conditionalAll(has(arrayMap(kind -> replaceRegexpOne(kind, '^[A-Z]+ ', ''), [${kind:singlequote}]), route), $kind)
GROUP BY fingerprint_id
ORDER BY "time" DESC
LIMIT 100
