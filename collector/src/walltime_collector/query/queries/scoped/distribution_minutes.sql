-- How long did the transactions of each step of time take? From the sums per minute: as many percentiles as make a histogram
-- (scoped/distribution.py has the same list).
SELECT
    intDiv(toUnixTimestamp(minute) - intDiv({start_ns:Int64}, 1000000000), {step_s:Int64}) AS step,
    sum(t.transactions) AS transactions,
    max(t.max_ns) AS max_ns,
    quantilesTDigestMerge(0, 0.001, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.125, 0.15, 0.175, 0.2, 0.225, 0.25, 0.275, 0.3, 0.325, 0.35,
        0.375, 0.4, 0.425, 0.45, 0.475, 0.5, 0.525, 0.55, 0.575, 0.6, 0.625, 0.65, 0.675, 0.7, 0.725, 0.75, 0.775, 0.8, 0.825, 0.85, 0.875,
        0.9, 0.925, 0.95, 0.975, 0.99, 0.995, 0.999, 0.9995, 0.9999)(t.percentiles_ns) AS percentiles_ns
FROM transactions_1m AS t
WHERE
-- include _scope_minutes.sql
GROUP BY step
HAVING transactions > 0
ORDER BY step
