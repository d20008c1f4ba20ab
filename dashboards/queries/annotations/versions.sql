-- A deploy is the first minute of a version that the day before did not have, of a service that had another one then.
SELECT
    first_minute AS "time",
    concat(service, ': version ', version) AS "title",
    'The first transaction of this version began.' AS "text",
    concat('deploy,', service) AS "tags"
FROM
(
    SELECT service, version, min(minute) AS first_minute, min(first_minute) OVER (PARTITION BY service) AS first_of_any
    FROM transactions_1m
    WHERE minute >= ($__fromTime) - INTERVAL 1 DAY AND minute <= ($__toTime) AND version != ''
        AND $__conditionalAll(service IN (${service:singlequote}), $service)
        AND $__conditionalAll(name IN (${kind:singlequote}), $kind)
    GROUP BY service, version
)
WHERE first_minute >= toStartOfMinute(($__fromTime)) AND first_minute > first_of_any
ORDER BY first_minute
