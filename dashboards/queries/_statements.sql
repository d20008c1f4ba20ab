(
    SELECT
        toDateTime(intDiv(toUnixTimestamp(minute), point_s) * point_s, 'UTC') AS time, service, kind, version,
        statement, transactions, calls, time_ns, errors
    FROM statements_by_minute
    -- include whole_minutes
    UNION ALL
    SELECT
        toDateTime(intDiv(toUnixTimestamp(started_at), point_s) * point_s, 'UTC') AS time, service, kind, version,
        statement, count(), sum(s.calls), sum(s.time_ns), sum(s.errors)
    FROM statements_each AS s
    -- include beside_minutes
    GROUP BY time, service, kind, version, statement
)
