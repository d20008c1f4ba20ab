-- The transactions of this trace with their bills.
-- The bloom filter on trace_id finds the few granules. Ids become hexadecimal under new names: an alias with the name of its
-- column would replace the column in PREWHERE. Unused columns are left out: opening and analysing 110 columns is most of the cost.
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
