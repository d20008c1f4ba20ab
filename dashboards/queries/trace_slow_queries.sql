-- What did the database's own log say about this request's statements?
WITH
    unhex(extract(lower(${trace_id:singlequote}), '[0-9a-f]{32}')) AS asked,
    (
        SELECT argMax(trace_id, duration_ns)
        FROM transactions
        WHERE empty(asked)
            AND $__timeFilter(started_at)
            AND $__conditionalAll(service IN (${service:singlequote}), $service)
            AND $__conditionalAll(name IN (${kind:singlequote}), $kind)
    ) AS slowest
SELECT
    started_at AS "started",
    fingerprint AS "statement",
    query_ns / 1e6 AS "took",
    lock_ns / 1e6 AS "lock wait",
    row_lock_ns / 1e6 AS "row lock wait",
    io_wait_ns / 1e6 AS "io wait",
    rows_examined AS "rows examined",
    rows_sent AS "rows sent",
    rows_affected AS "rows affected",
    arrayStringConcat(
        arrayFilter(said -> said != '', [
            if(is_full_scan, 'full scan', ''), if(is_full_join, 'full join', ''),
            if(is_tmp_table_on_disk, 'temporary table on disk', if(is_tmp_table, 'temporary table', '')),
            if(is_filesort_on_disk, 'sort on disk', if(is_filesort, 'sort', ''))]),
        ', ') AS "how",
    if(errno = 0, NULL, errno) AS "error",
    server,
    connection_id AS "connection"
FROM slow_queries
WHERE trace_id = if(length(asked) = 16, toFixedString(asked, 16), slowest)
ORDER BY started_at
LIMIT 2000
