-- Which transactions took longest?
SELECT
    lower(hex(trace_id)) AS trace,
    lower(hex(span_id)) AS span,
    service,
    name,
    toUnixTimestamp64Nano(started_at) AS started_ns,
    duration_ns,
    is_error,
    http_status,
    kept
FROM transactions
WHERE
-- include _scope.sql
    AND duration_ns >= {least_ns:UInt64}
ORDER BY duration_ns DESC, started_at
LIMIT {limit:UInt32}
