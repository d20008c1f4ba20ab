-- The entries of the database's slow log about the statements of this trace.
SELECT
    lower(hex(span_id)) AS span,
-- include show/_slow_query_columns.sql
FROM slow_queries
WHERE trace_id = unhex({trace_id:String})
ORDER BY started_at, position
LIMIT {limit:UInt32}
