-- The spans of other instrumentations in this trace, as calls.
-- Their own time is not measured: it is 0 here. A root that became a transaction is no call. ClickHouse needs about 70 ms
-- to analyse the view, so this runs only for traces with such spans.
SELECT
    lower(hex(span_id)) AS span,
    lower(hex(parent_span_id)) AS parent,
    toUnixTimestamp64Nano(started_at) AS started_ns,
    duration_ns,
    0 AS own_ns,
    component,
    address,
    sql_text AS statement,
    true AS is_derived,
    service,
    name,
    status,
    status_message,
    attributes
FROM foreign_calls
WHERE trace_id = unhex({trace_id:String})
    AND span_id NOT IN (SELECT span_id FROM transactions WHERE trace_id = unhex({trace_id:String}))
ORDER BY started_at, span_id
LIMIT {limit:UInt32}
