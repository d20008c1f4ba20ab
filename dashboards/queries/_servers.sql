(
    SELECT
        toDateTime(intDiv(toUnixTimestamp(minute), point_s) * point_s, 'UTC') AS time, service, kind,
        component, family, server, transactions, calls, time_ns, errors, hits, misses
    FROM servers_by_minute
    WHERE minute >= toDateTime(minutes_from_s, 'UTC') AND minute < toDateTime(minutes_to_s, 'UTC')
        AND $__conditionalAll(0, $version)
        AND service != 'walltime.doctor'
        AND $__conditionalAll(service IN (${service:singlequote}), $service)
        AND $__conditionalAll(kind IN (${kind:singlequote}), $kind)
    UNION ALL
    SELECT
        toDateTime(intDiv(toUnixTimestamp(started_at), point_s) * point_s, 'UTC') AS time, service, kind,
        component, family, server, count(), sum(s.calls), sum(s.time_ns), sum(s.errors), sum(s.hits), sum(s.misses)
    FROM servers_each AS s
    WHERE started_at >= from_at AND started_at < to_at
        AND (started_at < toDateTime64(minutes_from_s, 9, 'UTC') OR started_at >= toDateTime64(minutes_to_s, 9, 'UTC')
            OR NOT $__conditionalAll(0, $version))
        -- include chosen
    GROUP BY time, service, kind, component, family, server
)
