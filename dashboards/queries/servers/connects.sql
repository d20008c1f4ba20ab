-- Connections opened per second
-- As many as transactions means that every one connects anew: use a pool, or persistent connections.
SELECT
    time,
    connects / seconds AS "connects",
    if(errors = 0, NULL, errors / seconds) AS "failed"
FROM
(
    SELECT
        time,
        connects,
        errors,
        greatest(
            1,
            least(toUnixTimestamp(time) + ($__interval_s), toUnixTimestamp(($__toTime)))
            - greatest(toUnixTimestamp(time), toUnixTimestamp(($__fromTime)))
        ) AS seconds
    FROM
    (
        SELECT
            $__timeInterval(started_at) AS time,
            sum(mysql_connect_calls) AS connects,
            sum(mysql_connect_errors) AS errors
        FROM transactions
        WHERE $__timeFilter(started_at)
            AND $__conditionalAll(service IN (${service:singlequote}), $service)
            AND $__conditionalAll(name IN (${kind:singlequote}), $kind)
        GROUP BY time
        ORDER BY time WITH FILL STEP ($__interval_s)
    )
)
ORDER BY time
