-- The kinds of the transactions of these traces.
SELECT
    lower(hex(trace_id)) AS trace,
    lower(hex(span_id)) AS span,
    toString(any(transactions.service)) AS service,
    toString(any(transactions.name)) AS name
FROM transactions
PREWHERE trace_id IN (SELECT toFixedString(unhex(arrayJoin({traces:Array(String)})), 16))
GROUP BY trace_id, span_id
