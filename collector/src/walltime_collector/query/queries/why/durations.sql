-- How long did the transactions of both sides take, in the order of time, and which failed? The very long ones are among them.
SELECT is_slow, arrayMap(each -> toFloat64(each.2), in_order) AS durations_ns, arrayMap(each -> toUInt8(each.3), in_order) AS failed
FROM
(
    WITH
-- include why/_compared.sql
    SELECT is_slow, arraySort(groupArray((started_at, duration_ns, is_error))) AS in_order
    FROM transactions
    WHERE is_of_a_side
    GROUP BY is_slow
)
