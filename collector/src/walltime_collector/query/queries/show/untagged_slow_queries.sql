-- The entries of the database's slow log without a trace id, on these connections and at this time. Their comment is lost: the
-- statement was logged cut off, or was sent as a prepared statement.
SELECT
    connection_id,
    toUnixTimestamp64Nano(toDateTime64(started_at, 9, 'UTC')) AS started_ns,
-- include show/_slow_query_columns.sql
FROM slow_queries
WHERE connection_id IN {connections:Array(UInt64)}
    AND trace_id = toFixedString('', 16)
    AND started_at >= fromUnixTimestamp64Nano({since_ns:Int64}, 'UTC')
    AND started_at <= fromUnixTimestamp64Nano({until_ns:Int64}, 'UTC')
ORDER BY slow_queries.started_at, position
LIMIT {limit:UInt32}
