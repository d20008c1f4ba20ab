SELECT toStartOfMinute(started_at) AS minute,
    round(avg(duration_ns) / 1e6, 2) AS mean_ms,
    round(quantile(0.95)(duration_ns) / 1e6, 2) AS p95_ms
FROM transactions
WHERE started_at > now() - INTERVAL 1 HOUR
GROUP BY minute
ORDER BY minute
