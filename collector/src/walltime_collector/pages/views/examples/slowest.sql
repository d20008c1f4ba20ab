SELECT lower(hex(trace_id)) AS trace, started_at, name, http_status,
    round(duration_ns / 1e6, 2) AS ms,
    round(mysql_query_time_ns / 1e6, 2) AS mysql_ms, mysql_query_calls AS queries,
    round(other_ns / 1e6, 2) AS other_ms
FROM transactions
WHERE started_at > now() - INTERVAL 1 HOUR
ORDER BY duration_ns DESC
LIMIT 20
