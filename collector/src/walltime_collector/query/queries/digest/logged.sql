-- The slowest entries of the slow log about a statement.
SELECT
    if(trace_id = toFixedString('', 16), '', lower(hex(trace_id))) AS trace,
    toUnixTimestamp64Micro(slow_queries.started_at) * 1000 AS started_ns,
    server,
    query_ns,
    greatest(lock_ns, row_lock_ns) + likely_row_lock_ns AS locked_ns,
    io_wait_ns,
    rows_sent,
    rows_examined,
    rows_affected,
    errno,
    is_full_scan,
    sample
FROM slow_queries
WHERE
-- include _log_scope.sql
ORDER BY query_ns DESC, slow_queries.started_at DESC
LIMIT {limit:UInt32}
