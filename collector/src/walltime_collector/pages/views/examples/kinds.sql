SELECT service, name, count() AS transactions,
    round(avg(duration_ns) / 1e6, 2) AS mean_ms,
    round(quantile(0.95)(duration_ns) / 1e6, 2) AS p95_ms,
    round(sum(duration_ns) / 1e9, 1) AS total_s
FROM transactions
WHERE started_at > now() - INTERVAL 1 HOUR
GROUP BY service, name
ORDER BY total_s DESC
LIMIT 20
