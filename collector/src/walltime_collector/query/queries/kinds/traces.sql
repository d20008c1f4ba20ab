-- The traces with an id between these two, which have the same first digits. Reads the ids of all transactions: no index has this order.
SELECT
    lower(hex(id)) AS trace,
    toUnixTimestamp64Nano(min(started_at)) AS started_ns,
    argMin(name, (parent_span_id != toFixedString('', 8), started_at)) AS name
FROM
(
    SELECT trace_id AS id, started_at, name, parent_span_id
    FROM transactions
    PREWHERE trace_id >= unhex({first:String}) AND trace_id <= unhex({last:String})
)
GROUP BY id
ORDER BY started_ns DESC, trace
LIMIT {limit:UInt32}
