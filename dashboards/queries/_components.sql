(
    SELECT
        toDateTime(intDiv(toUnixTimestamp(minute), point_s) * point_s, 'UTC') AS time, service, kind, version,
        component, family, position, transactions, calls, time_ns, errors, hits, misses
    FROM components_by_minute
    -- include whole_minutes
    UNION ALL
    SELECT
        toDateTime(intDiv(toUnixTimestamp(started_at), point_s) * point_s, 'UTC') AS time, service, kind, version,
        component, family, position,
        sum(each.transactions), sum(each.calls), sum(each.time_ns), sum(each.errors), sum(each.hits), sum(each.misses)
    FROM components_each AS each
    -- include beside_minutes
    GROUP BY time, service, kind, version, component, family, position
)
