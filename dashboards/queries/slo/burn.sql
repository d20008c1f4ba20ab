-- Burn rate
-- Of the last hour before each point: above 1 the target is missed if it goes on.
-- include points
-- include target
SELECT *
FROM
(
    SELECT
        time,
        sum(bad) OVER hour / nullIf(sum(number) OVER hour, 0) / budget AS burn
    FROM
    (
        SELECT
            toDateTime(intDiv(toUnixTimestamp(started_at), point_s) * point_s, 'UTC') AS time,
            countIf(is_error OR duration_ns > limit_ns) AS bad,
            count() AS number
        FROM kinds_each
        WHERE started_at >= from_at - INTERVAL 1 HOUR AND started_at < to_at
        -- include chosen
        GROUP BY time
        ORDER BY time WITH FILL STEP point_s
    )
    WINDOW hour AS (ORDER BY toUnixTimestamp(time) RANGE BETWEEN 3599 PRECEDING AND CURRENT ROW)
)
WHERE time >= toDateTime(intDiv(from_s, point_s) * point_s, 'UTC')
ORDER BY time
