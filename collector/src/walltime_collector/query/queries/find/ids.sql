-- Which transactions of a Scope come first, ordered by a number of them, the largest first? Those behind the last one of the
-- page before, if there was one.
SELECT
    lower(hex(trace_id)) AS trace,
    lower(hex(span_id)) AS span,
    toUnixTimestamp64Nano(started_at) AS started_ns,
    service,
    name,
    -- sort
    AS sorted_by
FROM transactions
WHERE
-- include _scope.sql
    AND (
        {after_span:String} = '' OR sorted_by < {after_value:Int64}
        OR sorted_by = {after_value:Int64} AND (started_ns, span) < ({after_started_ns:Int64}, {after_span:String})
    )
ORDER BY sorted_by DESC, started_at DESC, span_id DESC
LIMIT {limit:UInt32}
