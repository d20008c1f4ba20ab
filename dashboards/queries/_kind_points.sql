(
    SELECT
        *,
        greatest(1, least(toUnixTimestamp(time) + point_s, to_s) - greatest(toUnixTimestamp(time), from_s)) AS seconds
    FROM
    (
        SELECT
            time,
            -- include sums
        FROM
        -- include kinds
        AS k
        GROUP BY time
        ORDER BY time WITH FILL STEP point_s
    )
)
