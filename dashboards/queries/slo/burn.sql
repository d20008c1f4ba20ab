-- Burn rate
-- Of the last hour before each point: above 1 the target is missed if it goes on.
-- include since from=toUnixTimestamp(($__fromTime))-3600 step=($__interval_s)
-- include target
SELECT *
FROM
(
    SELECT time, sum(failures + slow) OVER hour / nullIf(sum(number) OVER hour, 0) / budget AS burn
    FROM
    -- include counts
    WINDOW hour AS (ORDER BY toUnixTimestamp(time) RANGE BETWEEN 3599 PRECEDING AND CURRENT ROW)
)
WHERE time >= toStartOfMinute(($__fromTime))
ORDER BY time
