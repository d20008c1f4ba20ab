-- Kinds, by the time they take
-- Times are means of a transaction; the bar is the mean by family. A click on a kind shows it alone, one on a trace id that transaction; `kept` is the last one whose calls were kept one by one.
-- include window
SELECT
    service AS "service",
    kind AS "kind",
    duration / nullIf(sum(duration) OVER (), 0) AS "share",
    -- include bar
    AS "time by family",
    number AS "transactions",
    nullIf(failures, 0) / number AS "failed",
    duration / number AS "mean",
    percentiles[2] AS "p95",
    longest AS "longest"
FROM
(
    SELECT
        service, kind,
        sum(transactions) AS number,
        sum(errors) AS failures,
        sum(duration_ns) AS duration,
        max(max_ns) AS longest,
        quantilesTDigestMerge(0.5, 0.95, 0.99)(percentiles_ns) AS percentiles,
        [sum(mysql_ns), sum(memcache_ns), sum(redis_ns), sum(http_ns), sum(python_ns), sum(framework_ns), sum(application_ns), sum(view_ns), sum(other_ns)] AS parts,
        max(arraySum(parts)) OVER () AS widest
    FROM
    -- include kinds
    GROUP BY service, kind
)
ORDER BY "share" DESC
LIMIT 200
