SELECT environment
FROM transactions
WHERE started_at >= ($__fromTime) AND started_at <= ($__toTime) AND service != 'walltime.doctor'
    AND $__conditionalAll(service IN (${service:singlequote}), $service)
GROUP BY environment
HAVING environment != ''
ORDER BY environment
LIMIT 1000
