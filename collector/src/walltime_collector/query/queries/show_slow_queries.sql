-- What does the database's own log say about the statements of this trace?
-- MariaDB's Engine_time is in milliseconds, unlike the log's other times; page counts are MariaDB's too.
SELECT
    lower(hex(span_id)) AS span,
    fingerprint,
    sample,
    query_ns,
    lock_ns,
    row_lock_ns,
    io_wait_ns,
    toUInt64(toFloat64OrZero(fields['Engine_time']) * 1000000) AS engine_ns,
    toUInt64OrZero(fields['Pages_accessed']) AS pages_accessed,
    toUInt64OrZero(fields['Pages_read']) AS pages_read,
    rows_sent,
    rows_examined,
    rows_affected,
    errno,
    server,
    is_full_scan,
    is_full_join,
    is_tmp_table_on_disk,
    is_filesort_on_disk
FROM slow_queries
WHERE trace_id = unhex({trace_id:String})
ORDER BY started_at, position
LIMIT {limit:UInt32}
