-- Seconds of each component: one column for each
SELECT name, COLUMNS('^(mysql|memcache|http)_.*_time_ns$') APPLY sum APPLY (ns -> round(ns / 1e9, 2))
FROM transactions
WHERE started_at > now() - INTERVAL 1 HOUR
GROUP BY name
ORDER BY name
