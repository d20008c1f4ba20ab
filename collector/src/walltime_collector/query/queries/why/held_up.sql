-- Which lines of the application held the event loop up while the slow transactions waited for it? The longest wait of each of
-- them, which is as a rule most of its wait. Empty: it was not seen.
WITH
-- include why/_compared.sql
SELECT
    attributes['walltime.loop_held_line'] AS line,
    sum(toUInt64OrZero(attributes['walltime.loop_held_ns'])) AS held_ns
FROM transactions
WHERE is_compared AND is_slow AND loop_wait_ns >= {least_ns:UInt64}
GROUP BY line
ORDER BY held_ns DESC, line
LIMIT 2
