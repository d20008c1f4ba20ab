-- What did a statement cost on each day, on the server, and how many rows did it examine for each that it sent or changed?
SELECT
    toInt64(toUnixTimestamp(toStartOfDay(toDateTime(started_at)))) AS day_s, sum(weight) AS calls, sum(query_ns * weight) AS time_ns,
    sum(rows_examined * weight) AS rows_examined, sum((rows_sent + rows_affected) * weight) AS rows_used,
    toInt64(toUnixTimestamp(toDateTime(min(started_at)))) AS first_s
FROM slow_queries
WHERE fingerprint_id = {fingerprint_id:UInt64}
GROUP BY day_s
ORDER BY day_s
