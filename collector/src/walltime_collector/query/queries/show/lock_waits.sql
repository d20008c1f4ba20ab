-- The waits for locks in which this trace waited or held the lock. The bloom filters find the few granules; of the rows of a
-- wait that goes on the last one counts.
SELECT
    lower(hex(trace_id)) AS waiter_trace,
    lower(hex(span_id)) AS waiter_span,
    lower(hex(holder_trace_id)) AS holder_trace,
    lower(hex(holder_span_id)) AS holder_span,
    toUnixTimestamp64Nano(toDateTime64(started_at, 9, 'UTC')) AS started_ns,
    * EXCEPT (trace_id, span_id, holder_trace_id, holder_span_id, started_at, updated_at)
FROM
(
    SELECT * FROM lock_waits WHERE trace_id = unhex({trace_id:String})
    UNION DISTINCT
    SELECT * FROM lock_waits WHERE holder_trace_id = unhex({trace_id:String})
)
ORDER BY updated_at DESC, waited_ns DESC
LIMIT 1 BY server, started_at, connection_id, holder_connection_id
LIMIT {limit:UInt32}
