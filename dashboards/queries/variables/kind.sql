SELECT name
FROM transactions_1m
WHERE minute >= toStartOfMinute(($__fromTime)) AND minute <= ($__toTime) AND service != 'walltime.doctor'
    AND $__conditionalAll(service IN (${service:singlequote}), $service)
GROUP BY name
ORDER BY name
LIMIT 1000
