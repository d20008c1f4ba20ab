-- Servers
-- Which servers the transactions called. `hit ratio` is of the keys asked for; of several equal servers one that stands out is the one to look at.
-- include window
    , (
        SELECT (sum(transactions), sum(duration_ns))
        FROM
        -- include kinds
    ) AS whole
SELECT
    component AS "component",
    server AS "server",
    ns / nullIf(whole.2, 0) AS "share",
    ns / nullIf(whole.1, 0) AS "per transaction",
    called / nullIf(whole.1, 0) AS "calls each",
    ns / nullIf(called, 0) AS "per call",
    found / nullIf(found + missed, 0) AS "hit ratio",
    nullIf(missed, 0) AS "misses",
    nullIf(failures, 0) AS "errors"
FROM
(
    SELECT
        component, server,
        sum(time_ns) AS ns, sum(calls) AS called, sum(hits) AS found, sum(misses) AS missed, sum(errors) AS failures
    FROM
    -- include servers
    GROUP BY component, server
)
ORDER BY ns DESC
LIMIT 100
