-- The longest waits for locks of a server in a window, with the kinds of both sides where they are stored.
WITH
waits AS
(
    SELECT *
    FROM
    (
-- include _lock_waits.sql
    )
    WHERE server = {server:String}
    ORDER BY waited_ns DESC, started_at
    LIMIT {limit:UInt32}
),
names AS
(
    SELECT trace_id, span_id, toString(any(transactions.service)) AS kind_service, toString(any(name)) AS kind_name
    FROM transactions
    PREWHERE trace_id IN (SELECT arrayJoin([waits.trace_id, waits.holder_trace_id]) FROM waits)
    GROUP BY trace_id, span_id
)
SELECT
    toUnixTimestamp64Nano(toDateTime64(waits.started_at, 9, 'UTC')) AS started_ns,
    toString(waits.server) AS server, waits.waited_ns AS waited_ns, waits.sort AS sort, waits.object AS object, waits.index_name AS index_name, waits.key AS key,
    waits.statement AS statement, waits.holder_statement AS holder_statement, waits.holder_running AS holder_running,
    waits.holder_idle_ns AS holder_idle_ns,
    if(waits.trace_id = toFixedString('', 16), '', lower(hex(waits.trace_id))) AS trace_id,
    if(waiter.kind_name = '', waits.service, waiter.kind_service) AS service,
    if(waiter.kind_name = '', waits.route, waiter.kind_name) AS name,
    if(waits.holder_trace_id = toFixedString('', 16), '', lower(hex(waits.holder_trace_id))) AS holder_trace_id,
    if(holder.kind_name = '', waits.holder_service, holder.kind_service) AS holder_service,
    if(holder.kind_name = '', waits.holder_route, holder.kind_name) AS holder_name
FROM waits
LEFT JOIN names AS waiter ON waiter.trace_id = waits.trace_id AND waiter.span_id = waits.span_id
LEFT JOIN names AS holder ON holder.trace_id = waits.holder_trace_id AND holder.span_id = waits.holder_span_id
ORDER BY waited_ns DESC, started_ns
