-- How many transactions per second, and how many of them failed? A quiet interval is 0, not a gap; one that sticks out
-- of the time shown counts with the part inside. No failure is NULL: a line of zeros would lie on the others.
SELECT
    time,
    (transactions - errors) / seconds AS "ok",
    if(errors = 0, NULL, errors / seconds) AS "failed"
FROM
(
    SELECT
        time,
        transactions,
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
            count() AS transactions,
            countIf(is_error) AS errors
        FROM transactions
        WHERE $__timeFilter(started_at)
            AND $__conditionalAll(service IN (${service:singlequote}), $service)
            AND $__conditionalAll(name IN (${kind:singlequote}), $kind)
        GROUP BY time
        ORDER BY time WITH FILL STEP ($__interval_s)
    )
)
ORDER BY time
