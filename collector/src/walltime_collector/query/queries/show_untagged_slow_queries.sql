-- What does the database's own log say, at this time, about statements on these connections that name no transaction?
-- Their comment is lost: they were logged cut off, or sent as prepared statements.
SELECT
    connection_id,
    toUnixTimestamp64Nano(toDateTime64(started_at, 9, 'UTC')) AS started_ns,
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
WHERE connection_id IN {connections:Array(UInt64)}
    AND trace_id = toFixedString('', 16)
    AND started_at >= fromUnixTimestamp64Nano({since_ns:Int64}, 'UTC')
    AND started_at <= fromUnixTimestamp64Nano({until_ns:Int64}, 'UTC')
ORDER BY slow_queries.started_at, position
LIMIT {limit:UInt32}
