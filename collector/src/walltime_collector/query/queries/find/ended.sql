-- Which transactions of a Scope ended at a time or after it, the earliest end first? Of earlier minutes only those are read
-- whose longest transaction reached it.
SELECT
    lower(hex(trace_id)) AS trace,
    lower(hex(span_id)) AS span,
    toUnixTimestamp64Nano(started_at) AS started_ns,
    service,
    name,
    started_ns + toInt64(transactions.duration_ns) AS sorted_by
FROM transactions
WHERE (service, name, toStartOfMinute(started_at)) IN (
        SELECT service, name, minute
        FROM transactions_1m
        WHERE minute >= toStartOfMinute(fromUnixTimestamp64Nano({start_ns:Int64}, 'UTC'))
            AND (toInt64(toUnixTimestamp(minute)) + 60) * 1000000000 + toInt64(max_ns) >= {ended_from_ns:Int64}
    )
    AND (sorted_by, span) > ({ended_from_ns:Int64}, {after_span:String})
    AND
-- include _scope.sql
ORDER BY sorted_by, span_id
LIMIT {limit:UInt32}
