SELECT version
FROM transactions_1m
WHERE minute >= toStartOfMinute(($__fromTime)) AND minute <= ($__toTime) AND service != 'walltime.doctor' AND version != ''
    AND $__conditionalAll(service IN (${service:singlequote}), $service)
GROUP BY version
ORDER BY version
LIMIT 1000
