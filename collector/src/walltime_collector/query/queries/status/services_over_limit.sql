-- Services over the limit of names since the start of yesterday, without those that are already limited today.
SELECT service
FROM transactions_1m
WHERE minute >= toStartOfDay(now()) - INTERVAL 1 DAY AND name != '_OTHER'
    AND service NOT IN (SELECT service FROM crowded_names WHERE day = today())
GROUP BY service
HAVING uniqExact(name) > {most:UInt32}
ORDER BY service
