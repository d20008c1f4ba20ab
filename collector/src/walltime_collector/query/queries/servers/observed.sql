-- Which servers were asked in this time? Those of databases and caches, as the collector's settings name them.
SELECT server, system
FROM
(
    SELECT DISTINCT server, 'mysql' AS system
    FROM mysql_status
    WHERE at >= fromUnixTimestamp64Nano({start_ns:Int64}, 'UTC') AND at < fromUnixTimestamp64Nano({end_ns:Int64}, 'UTC')
    UNION ALL
    SELECT DISTINCT server, system
    FROM cache_status
    WHERE at >= fromUnixTimestamp64Nano({start_ns:Int64}, 'UTC') AND at < fromUnixTimestamp64Nano({end_ns:Int64}, 'UTC')
)
ORDER BY server, system
