-- Calls per transaction
-- More calls than usual: look for cache misses, or a loop that queries.
-- include points
SELECT time, place, series AS component, calls / nullIf(transactions, 0) AS calls_each
FROM
-- include series by=component share=calls of=all
ORDER BY time, place
