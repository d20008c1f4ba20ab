-- What did each component cost on each server?
-- Both sides are in one row, those that differ most per transaction first.
WITH
-- include why/_compared.sql
SELECT
    called.component AS component,
    called.address AS address,
    sumIf(called.calls, NOT is_slow) AS usual_calls, sumIf(called.calls, is_slow) AS slow_calls,
    sumIf(called.time_ns, NOT is_slow) AS usual_time_ns, sumIf(called.time_ns, is_slow) AS slow_time_ns,
    sumIf(called.errors, NOT is_slow) AS usual_errors, sumIf(called.errors, is_slow) AS slow_errors,
    sumIf(called.hits, NOT is_slow) AS usual_hits, sumIf(called.hits, is_slow) AS slow_hits,
    sumIf(called.misses, NOT is_slow) AS usual_misses, sumIf(called.misses, is_slow) AS slow_misses
FROM transactions
ARRAY JOIN target AS called
WHERE is_compared
GROUP BY component, address
ORDER BY abs(slow_time_ns / {slow_transactions:UInt64} - usual_time_ns / {usual_transactions:UInt64}) DESC, component, address
LIMIT {limit:UInt32}
