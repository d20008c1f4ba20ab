(
    -- up to the end of the time shown: the short and the long window of each alert of Google's SRE workbook
    SELECT
        service, kind, count() AS number,
        countIf(is_error) AS failures, countIf(is_slow AND NOT is_error) AS slow,
        countIf(started_at >= to_at - INTERVAL 5 MINUTE) AS n_5m, countIf(is_bad AND started_at >= to_at - INTERVAL 5 MINUTE) AS bad_5m,
        countIf(started_at >= to_at - INTERVAL 30 MINUTE) AS n_30m, countIf(is_bad AND started_at >= to_at - INTERVAL 30 MINUTE) AS bad_30m,
        countIf(started_at >= to_at - INTERVAL 1 HOUR) AS n_1h, countIf(is_bad AND started_at >= to_at - INTERVAL 1 HOUR) AS bad_1h,
        countIf(started_at >= to_at - INTERVAL 6 HOUR) AS n_6h, countIf(is_bad AND started_at >= to_at - INTERVAL 6 HOUR) AS bad_6h,
        countIf(is_bad) AS bad_3d
    FROM (SELECT *, duration_ns > limit_ns AS is_slow, is_error OR is_slow AS is_bad FROM kinds_each)
    WHERE started_at >= to_at - INTERVAL 3 DAY AND started_at < to_at
    -- include chosen
    GROUP BY service, kind
)
