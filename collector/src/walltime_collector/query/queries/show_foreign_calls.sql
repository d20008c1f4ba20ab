-- What do spans of other instrumentations in this trace say, in our words?
-- Their own time nobody measured, so it is 0 here. A root that became a transaction is no call. ClickHouse needs some 70 ms
-- to understand the view, so this is asked only where there are such spans.
SELECT
    lower(hex(span_id)) AS span,
    lower(hex(parent_span_id)) AS parent,
    toUnixTimestamp64Nano(started_at) AS started_ns,
    duration_ns,
    0 AS own_ns,
    component,
    address,
    statement,
    true AS is_foreign,
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
