(
    SELECT time, sum(n) AS number, sum(failed) AS failures, sum(late) AS slow
    FROM
    (
        SELECT time, k.transactions AS n, k.errors AS failed, 0 AS late
        FROM
        -- include kinds
        AS k
        UNION ALL
        SELECT toDateTime(intDiv(toUnixTimestamp(started_at), point_s) * point_s, 'UTC'), 0, 0, 1
        FROM kinds_each
        WHERE started_at >= from_at AND started_at < to_at AND duration_ns > limit_ns AND NOT is_error
        -- include chosen
    )
    GROUP BY time
    ORDER BY time WITH FILL STEP point_s
)
