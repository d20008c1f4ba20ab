-- What did the database's own log say about this request's statements?
-- What a server does not report is NULL. Only Percona Server reports waits for row locks, beside the pages it looked at
-- (fields that are 0 are not stored). For MariaDB the wait is inferred as in `walltime show`: time in the storage engine
-- that neither disk nor pages explain (Engine_time is in milliseconds; at most 200 µs a page; from 5 ms on).
WITH
    unhex(extract(lower(${trace_id:singlequote}), '[0-9a-f]{32}')) AS asked,
    (
        SELECT argMax(trace_id, duration_ns)
        FROM transactions
        WHERE empty(asked)
            AND $__timeFilter(started_at)
            AND $__conditionalAll(service IN (${service:singlequote}), $service)
            AND $__conditionalAll(name IN (${kind:singlequote}), $kind)
    ) AS slowest,
    if(
        row_lock_ns > 0,
        0,
        toInt64(least(toUInt64(toFloat64OrZero(fields['Engine_time']) * 1000000), query_ns))
            - toInt64(io_wait_ns)
            - toInt64(toUInt64OrZero(fields['Pages_accessed'])) * 200000
    ) AS unexplained_ns
SELECT
    started_at AS "started",
    fingerprint AS "statement",
    query_ns AS "took",
    lock_ns AS "lock wait",
    if(row_lock_ns > 0 OR mapContains(fields, 'InnoDB_pages_distinct'), row_lock_ns, NULL) AS "row lock",
    if(unexplained_ns >= 5000000, unexplained_ns, NULL) AS "likely row lock",
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
    if(errno = 0, NULL, errno) AS "error",
    server,
    connection_id AS "connection"
FROM slow_queries
WHERE trace_id = if(length(asked) = 16, toFixedString(asked, 16), slowest)
ORDER BY started_at
LIMIT 2000
