-- The slowest at the server
-- Entries of its log. A click on the trace id shows the transaction that sent it.
-- include window
SELECT
    started_at AS "started",
    query_ns AS "took",
    nullIf(locked_ns, 0) AS "in locks",
    if(is_disk_known, nullIf(disk_ns, 0), NULL) AS "io wait",
    rows_examined AS "examined",
    rows_sent AS "sent",
    nullIf(rows_affected, 0) AS "changed",
    sample AS "statement",
    server AS "server",
    if(trace_id = toFixedString('', 16), '', lower(hex(trace_id))) AS "trace"
FROM slow_queries
WHERE
-- include log
ORDER BY "took" DESC
LIMIT 50
