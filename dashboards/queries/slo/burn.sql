-- Burn rate
-- Of the last hour before each point (of less at the left edge): above 1 the target is missed if it goes on.
-- include points
-- include target
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
    WHERE started_at >= from_at AND started_at < to_at
    -- include chosen
    GROUP BY time
    ORDER BY time WITH FILL STEP point_s
)
WINDOW hour AS (ORDER BY toUnixTimestamp(time) RANGE BETWEEN 3600 PRECEDING AND CURRENT ROW)
ORDER BY time
