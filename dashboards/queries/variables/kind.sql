-- Which kinds of transaction did the chosen services serve in this time?
SELECT DISTINCT name
FROM transactions
WHERE $__timeFilter(started_at)
    AND $__conditionalAll(service IN (${service:singlequote}), $service)
ORDER BY name
LIMIT 1000
