-- A service sends nothing
-- Minutes since its last transaction; services that sent in at least 30 minutes of the last day.
SELECT service, dateDiff('minute', max(minute), now()) AS silent
FROM kinds_by_minute
WHERE minute >= now() - INTERVAL 1 DAY AND service != 'walltime.doctor'
GROUP BY service
HAVING uniqExact(minute) >= 30
ORDER BY silent DESC
