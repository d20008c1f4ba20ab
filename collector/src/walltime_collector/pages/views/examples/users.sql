SELECT user, count() AS transactions, countIf(is_error) AS failed,
    round(avg(duration_ns) / 1e6, 2) AS mean_ms,
    round(max(duration_ns) / 1e6, 2) AS longest_ms
FROM transactions
WHERE started_at > now() - INTERVAL 1 HOUR AND user != ''
GROUP BY user
ORDER BY transactions DESC
LIMIT 20
