(
    SELECT
        toDateTime(intDiv(toUnixTimestamp(minute), point_s) * point_s, 'UTC') AS time, service, kind, version,
        COLUMNS('^(transactions|errors|status_.xx|queries|cache_.*|.*_known|.*_ns)$') EXCEPT (max_ns, percentiles_ns),
        max_ns, percentiles_ns
    FROM kinds_by_minute
    -- include whole_minutes
    UNION ALL
    SELECT
        toDateTime(intDiv(toUnixTimestamp(started_at), point_s) * point_s, 'UTC') AS time, service, kind, version,
        COLUMNS('^(transactions|errors|status_.xx|queries|cache_.*|.*_known|.*_ns)$') EXCEPT (max_ns) APPLY sum,
        max(each.max_ns), quantilesTDigestState(0.5, 0.95, 0.99)(each.duration_ns)
    FROM kinds_each AS each
    -- include beside_minutes
    GROUP BY time, service, kind, version
)
