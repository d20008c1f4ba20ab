-- Addresses
-- An estimate from the requests of transactions that were kept by chance, each for as many as it stands for; values in an address are `?`. `again` are requests that the client sent once more, for each one.
-- include window
-- include sampled of=http
SELECT
    what AS "request",
    sum(ns * n) / nullIf(sum(sum(ns * n)) OVER (), 0) AS "share",
    sum(n) / (to_s - from_s) AS "per second",
    sum(ns * n) / sum(n) AS "mean",
    quantile(0.95)(ns) AS "p95",
    nullIf(sumIf(n, is_bad), 0) / sum(n) AS "failed",
    nullIf(sum(resends * n), 0) / sum(n) AS "again",
    arrayStringConcat(arraySort(groupUniqArray(5)(answer)), ', ') AS "answers",
    argMax(trace_of, ns) AS "slowest",
    count() AS "samples"
FROM
-- include requests
GROUP BY what
ORDER BY "share" DESC
LIMIT 100
