-- Which calls of this trace were kept, one by one, and which spans of other instrumentations are in it?
-- The table is ordered by trace_id: this reads one or two granules. What others say about a call is put into our words
-- (`is_foreign`); their own time nobody measured, so it is 0 here. A root that became a transaction is no call.
SELECT
    lower(hex(span_id)) AS span,
    lower(hex(parent_span_id)) AS parent,
    toUnixTimestamp64Nano(started_at) AS started_ns,
    duration_ns,
    own_ns,
    component,
    address,
    statement,
    is_foreign,
    service,
    name,
    status,
    status_message,
    attributes
FROM
(
    SELECT
        span_id, parent_span_id, started_at, duration_ns, own_ns, toString(component) AS component, '' AS address, '' AS statement, false AS is_foreign,
        service, name, status, status_message, attributes
    FROM spans
    WHERE trace_id = unhex({trace_id:String}) AND spans.component != ''
    UNION ALL
    SELECT
        span_id, parent_span_id, started_at, duration_ns, 0, component, address, statement, true,
        service, name, status, status_message, attributes
    FROM foreign_calls
    WHERE trace_id = unhex({trace_id:String})
        AND span_id NOT IN (SELECT span_id FROM transactions WHERE trace_id = unhex({trace_id:String}))
)
ORDER BY started_at, span_id
LIMIT {limit:UInt32}
