-- Which line of the application held the event loop up for most of the time for which the slow transactions waited for it? The
-- longest wait of each of them, which is as a rule most of its wait; the longest 2 % count as the longest of the others.
SELECT line, count() AS held, share
FROM
(
    SELECT
        line,
        sum(least(held_ns, most_ns)) OVER (PARTITION BY line) / sum(least(one_ns, most_ns)) OVER () AS share
    FROM
    (
        WITH
-- include why/_compared.sql
        SELECT
            attributes['walltime.loop_held_line'] AS line,
            assumeNotNull(loop_wait_ns) AS one_ns,
            least(toUInt64OrZero(attributes['walltime.loop_held_ns']), one_ns) AS held_ns,
            quantileExactLow(0.98)(one_ns) OVER () AS most_ns
        FROM transactions
        WHERE is_compared AND is_slow AND loop_wait_ns > 0
    )
)
WHERE line != ''
GROUP BY line, share
ORDER BY share DESC
LIMIT 1
