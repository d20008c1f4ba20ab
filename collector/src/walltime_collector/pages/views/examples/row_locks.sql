SELECT fingerprint, count() AS entries,
    round(sum(query_ns) / 1e6, 1) AS server_ms,
    round(sum(greatest(lock_ns, row_lock_ns) + likely_row_lock_ns) / 1e6, 1) AS locked_ms,
    argMax(lower(hex(trace_id)), query_ns) AS trace
FROM slow_queries
WHERE read_at > now() - INTERVAL 1 DAY
GROUP BY fingerprint
ORDER BY locked_ms DESC
LIMIT 20
