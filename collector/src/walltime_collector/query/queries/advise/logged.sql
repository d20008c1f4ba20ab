-- What does the slow log say of each statement: how many calls, how long, and how many rows does a typical one examine and use?
SELECT
    any(fingerprint) AS fingerprint_text,
    count() AS entries,
    sum(weight) AS calls,
    sum(query_ns * weight) AS time_ns,
    groupUniqArray(source) AS sources,
    min(query_ns) AS least_ns,
    quantileExactWeighted(0.5)(rows_examined, weight) AS rows_examined,
    quantileExactWeighted(0.5)(rows_sent + rows_affected, weight) AS rows_used,
    sumIf(weight, is_full_scan) AS full_scans
FROM slow_queries
WHERE
-- include _log_scope.sql
GROUP BY fingerprint_id
ORDER BY time_ns DESC, fingerprint_id
LIMIT {limit:UInt32}
