-- The bills of these transactions, in short. service, name and started_at are the key of the table: little else is read.
SELECT
    lower(hex(trace_id)) AS trace,
    lower(hex(span_id)) AS span,
    toUnixTimestamp64Nano(started_at) AS started_ns,
    duration_ns,
    service,
    name,
    host,
    version,
    environment,
    user,
    http_status,
    is_error,
    error_type,
    kept,
    other_ns,
    COLUMNS('_(calls|time_ns|errors|hits|misses)$') EXCEPT (custom_calls, custom_time_ns, custom_errors),
    custom_calls,
    custom_time_ns,
    custom_errors,
    more_counters
FROM transactions
WHERE (service, name, started_at) IN (
        SELECT row.1, row.2, fromUnixTimestamp64Nano(row.3, 'UTC')
        FROM (SELECT arrayJoin(arrayZip({services:Array(String)}, {names:Array(String)}, {started_ns:Array(Int64)})) AS row)
    )
    AND has({spans:Array(String)}, span)
