    -- the fields of a Transaction (scoped/examples.py)
    lower(hex(trace_id)) AS trace,
    lower(hex(span_id)) AS span,
    service,
    name,
    toUnixTimestamp64Nano(started_at) AS started_ns,
    duration_ns,
    is_error,
    http_status,
    kept
