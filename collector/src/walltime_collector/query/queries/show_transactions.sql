-- Which transactions belong to this trace, and what does each one's bill say?
-- The bloom filter on trace_id finds the few granules; ids leave as hexadecimal, under names of their own because an
-- alias called like its column would take the column's place in PREWHERE. Columns that nobody shows are left out: to open
-- and to understand 110 of them is most of what this costs.
SELECT
    lower(hex(span_id)) AS span,
    lower(hex(parent_span_id)) AS parent,
    toUnixTimestamp64Nano(started_at) AS started_ns,
    * EXCEPT (trace_id, span_id, parent_span_id, started_at, kind, resource, more_counters)
FROM transactions
PREWHERE trace_id = unhex({trace_id:String})
ORDER BY started_at, span_id
LIMIT 1 BY span_id
LIMIT {limit:UInt32}
