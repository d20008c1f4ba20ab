-- Data waits on a collector
-- Seconds that the oldest data waited in the last 5 minutes; for a collector that wrote no counters, the seconds since it did.
SELECT
    any(host) AS host,
    greatest(
        maxIf(spool_oldest_s, minute >= now() - INTERVAL 5 MINUTE),
        if(max(minute) < now() - INTERVAL 5 MINUTE, toFloat64(dateDiff('second', max(minute), now())), 0)) AS seconds
FROM walltime_health
WHERE minute >= now() - INTERVAL 1 HOUR
GROUP BY collector
ORDER BY seconds DESC
