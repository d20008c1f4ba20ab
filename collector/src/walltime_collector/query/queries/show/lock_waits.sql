-- The waits for locks in which this trace waited or held the lock. The bloom filters find the few granules; of the rows of a
-- wait that goes on the last one counts.
WITH
waits AS
(
    SELECT * FROM lock_waits WHERE trace_id = unhex({trace_id:String})
    UNION DISTINCT
    SELECT * FROM lock_waits WHERE holder_trace_id = unhex({trace_id:String})
),
names AS
(
    SELECT trace_id, span_id, toString(any(transactions.service)) AS kind_service, toString(any(name)) AS kind_name
    FROM transactions
    PREWHERE trace_id IN (SELECT arrayJoin([waits.trace_id, waits.holder_trace_id]) FROM waits)
    GROUP BY trace_id, span_id
)
SELECT
    lower(hex(waits.trace_id)) AS waiter_trace,
    lower(hex(waits.span_id)) AS waiter_span,
    lower(hex(waits.holder_trace_id)) AS holder_trace,
    lower(hex(waits.holder_span_id)) AS holder_span,
    toUnixTimestamp64Nano(toDateTime64(waits.started_at, 9, 'UTC')) AS started_ns,
    waits.* EXCEPT (trace_id, span_id, holder_trace_id, holder_span_id, started_at, updated_at),
    [waiter.kind_service, waiter.kind_name] AS waiter_kind,
    [holder.kind_service, holder.kind_name] AS holder_kind
FROM waits
LEFT JOIN names AS waiter ON waiter.trace_id = waits.trace_id AND waiter.span_id = waits.span_id
LEFT JOIN names AS holder ON holder.trace_id = waits.holder_trace_id AND holder.span_id = waits.holder_span_id
ORDER BY waits.updated_at DESC, waited_ns DESC
LIMIT 1 BY waits.server, waits.started_at, waits.connection_id, waits.holder_connection_id
LIMIT {limit:UInt32}
