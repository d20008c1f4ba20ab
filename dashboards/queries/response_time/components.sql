-- The average transaction
-- Time and calls side by side: 2 queries of 15 s and 10,000 queries of 3 ms are different problems.
-- include window
SELECT
    component AS "component",
    time_ns / transactions AS "time",
    time_ns / nullIf(sum(time_ns) OVER (), 0) AS "share",
    nullIf(calls, 0) / transactions AS "calls each",
    time_ns / nullIf(calls, 0) AS "per call"
FROM
(
    SELECT
        component,
        any(position) AS place,
        sum(c.time_ns) AS time_ns, sum(c.calls) AS calls,
        sum(sum(c.transactions)) OVER () AS transactions
    FROM
    -- include components
    AS c
    GROUP BY component
)
ORDER BY "time" DESC
LIMIT 100
