-- What the database's log says of it
-- Entries of the slow log whose comment carries this trace id: what the server did while the application waited, and the rows it examined, sent and changed. A cell is empty where the server does not report it. MariaDB reports no wait for row locks: `likely row lock` is its time in the storage engine that neither disk nor pages explain.
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
    query_ns AS "took",
    lock_ns AS "lock wait",
    if(row_lock_ns > 0 OR mapContains(fields, 'InnoDB_pages_distinct'), row_lock_ns, NULL) AS "row lock",
    nullIf(likely_row_lock_ns, 0) AS "likely row lock",
    if(io_wait_ns > 0 OR mapContains(fields, 'InnoDB_pages_distinct') OR mapContains(fields, 'Engine_time'), io_wait_ns, NULL)
        AS "io wait",
    rows_examined AS "examined",
    rows_sent AS "sent",
    -- MariaDB and Percona Server report it beside the bytes sent; MySQL does not, and has the bytes received there
    if(rows_affected > 0 OR (bytes_sent > 0 AND NOT mapContains(fields, 'Bytes_received')), rows_affected, NULL) AS "changed",
    arrayStringConcat(
        arrayFilter(said -> said != '', [
            if(is_full_scan, 'full scan', ''), if(is_full_join, 'full join', ''),
            if(is_tmp_table_on_disk, 'temporary table on disk', if(is_tmp_table, 'temporary table', '')),
            if(is_filesort_on_disk, 'sort on disk', if(is_filesort, 'sort', ''))]),
        ', ') AS "how",
    server AS "server"
FROM slow_queries
WHERE trace_id = if(length(asked) = 16, toFixedString(asked, 16), slowest)
ORDER BY started_at
LIMIT 2000
