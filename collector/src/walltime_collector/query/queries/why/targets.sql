-- What did each component cost on each server?
-- Both sides are in one row, those that differ most per transaction first.
WITH
-- include why/_compared.sql
SELECT
    target.component AS component,
    target.address AS address,
    sumIf(target.calls, NOT is_slow) AS usual_calls, sumIf(target.calls, is_slow) AS slow_calls,
    sumIf(target.time_ns, NOT is_slow) AS usual_time_ns, sumIf(target.time_ns, is_slow) AS slow_time_ns,
    sumIf(target.errors, NOT is_slow) AS usual_errors, sumIf(target.errors, is_slow) AS slow_errors,
    sumIf(target.hits, NOT is_slow) AS usual_hits, sumIf(target.hits, is_slow) AS slow_hits,
    sumIf(target.misses, NOT is_slow) AS usual_misses, sumIf(target.misses, is_slow) AS slow_misses
FROM transactions
ARRAY JOIN target.component, target.address, target.calls, target.time_ns, target.errors, target.hits, target.misses
WHERE is_compared
GROUP BY component, address
ORDER BY abs(slow_time_ns / {slow_transactions:UInt64} - usual_time_ns / {usual_transactions:UInt64}) DESC, component, address
LIMIT {limit:UInt32}
