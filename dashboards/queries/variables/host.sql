SELECT host
FROM transactions
WHERE started_at >= ($__fromTime) AND started_at <= ($__toTime) AND service != 'walltime.doctor'
    AND $__conditionalAll(service IN (${service:singlequote}), $service)
GROUP BY host
HAVING host != ''
ORDER BY host
LIMIT 1000
