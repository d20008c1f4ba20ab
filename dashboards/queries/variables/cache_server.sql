SELECT toString(server)
FROM servers_by_minute
WHERE family IN ('memcache', 'redis') AND minute >= toStartOfMinute(($__fromTime)) AND minute <= ($__toTime) AND service != 'walltime.doctor'
UNION DISTINCT
SELECT toString(server) FROM cache_status WHERE at >= ($__fromTime) AND at <= ($__toTime)
LIMIT 1000
