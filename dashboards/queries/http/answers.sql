-- Answers by host
-- Statuses, or what failed where there was none. Also an estimate.
-- include window
-- include sampled of=http
SELECT
    host AS "server",
    answer AS "answer",
    sum(n) / nullIf(sum(sum(n)) OVER (PARTITION BY host), 0) AS "share",
    sum(ns * n) / sum(n) AS "mean",
    argMax(trace_of, at) AS "example"
FROM
-- include requests
GROUP BY host, answer
ORDER BY host, "share" DESC
LIMIT 100
