-- Was any server ever observed?
SELECT 1 AS is_observed
FROM
(
    SELECT server FROM cache_status LIMIT 1
    UNION ALL
    SELECT server FROM mysql_status LIMIT 1
    UNION ALL
    SELECT server FROM slow_queries LIMIT 1
    UNION ALL
    SELECT server FROM lock_waits LIMIT 1
    UNION ALL
    SELECT server FROM server_events LIMIT 1
    UNION ALL
    SELECT server FROM plans LIMIT 1
)
LIMIT 1
