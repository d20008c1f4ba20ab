(
    -- in whole minutes: the short and the long window of each alert of Google's SRE workbook
    SELECT
        service, kind, sum(n) AS number, sum(failed) AS failures, sum(late) AS slow, failures + slow AS bad_3d,
        sumIf(n, at_s >= to_s - 300) AS n_5m, sumIf(failed + late, at_s >= to_s - 300) AS bad_5m,
        sumIf(n, at_s >= to_s - 1800) AS n_30m, sumIf(failed + late, at_s >= to_s - 1800) AS bad_30m,
        sumIf(n, at_s >= to_s - 3600) AS n_1h, sumIf(failed + late, at_s >= to_s - 3600) AS bad_1h,
        sumIf(n, at_s >= to_s - 21600) AS n_6h, sumIf(failed + late, at_s >= to_s - 21600) AS bad_6h
    FROM
    (
        SELECT service, kind, toUnixTimestamp(time) AS at_s, k.transactions AS n, k.errors AS failed, 0 AS late
        FROM
        -- include kinds
        AS k
        UNION ALL
        SELECT service, kind, intDiv(toUnixTimestamp(started_at), 60) * 60, 0, 0, 1
        FROM kinds_each
        WHERE started_at >= from_at AND started_at < to_at AND duration_ns > limit_ns AND NOT is_error
        -- include chosen
    )
    GROUP BY service, kind
)
