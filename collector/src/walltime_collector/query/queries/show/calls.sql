-- The kept calls of this trace; spans of other instrumentations (`is_derived`) are among them.
-- The table is ordered by trace_id: this reads one or two granules.
SELECT
    lower(hex(span_id)) AS span,
    lower(hex(parent_span_id)) AS parent,
    toUnixTimestamp64Nano(started_at) AS started_ns,
    duration_ns,
    own_ns,
    toString(spans.component) AS component,
    '' AS address,
    '' AS statement,
    spans.component = '' AS is_derived,
    service,
    name,
    status,
    status_message,
    attributes
FROM spans
WHERE trace_id = unhex({trace_id:String})
ORDER BY started_at, span_id
LIMIT {limit:UInt32}
