SELECT statement
FROM statements_by_minute
WHERE minute >= toStartOfMinute(($__fromTime)) AND minute <= ($__toTime) AND service != 'walltime.doctor'
    AND $__conditionalAll(service IN (${service:singlequote}), $service)
GROUP BY statement
ORDER BY sum(time_ns) DESC
LIMIT 300
