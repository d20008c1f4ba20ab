-- Statements
-- By total time. `calls of a sender` is of the transactions that send it: far above 1 is a loop that queries.
-- include window
    , (
        SELECT (sum(transactions), sum(duration_ns))
        FROM
        -- include kinds
    ) AS whole
SELECT
    statement AS "statement",
    ns / nullIf(whole.2, 0) AS "share",
    ns / nullIf(whole.1, 0) AS "per transaction",
    senders / nullIf(whole.1, 0) AS "that send it",
    called / nullIf(senders, 0) AS "calls of a sender",
    ns / nullIf(called, 0) AS "per call",
    nullIf(failures, 0) AS "errors"
FROM
(
    SELECT statement, sum(time_ns) AS ns, sum(transactions) AS senders, sum(calls) AS called, sum(errors) AS failures
    FROM
    -- include statements
    GROUP BY statement
)
ORDER BY ns DESC
LIMIT 100
