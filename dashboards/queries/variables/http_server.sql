SELECT DISTINCT toString(server)
FROM servers_by_minute
WHERE family = 'http' AND minute >= toStartOfMinute(($__fromTime)) AND minute <= ($__toTime) AND service != 'walltime.doctor'
LIMIT 1000
