SELECT
    at AS "time",
    until AS "timeEnd",
    concat(server, ': ', replaceAll(event, '_', ' ')) AS "title",
    what AS "text",
    concat(system, ',', event) AS "tags"
FROM server_events FINAL
WHERE at <= ($__toTime) AND until >= ($__fromTime)
    AND event IN ('restarted', 'replaced', 'flushed', 'failover', 'evicting', 'connection_limit', 'plan_changed')
ORDER BY at
