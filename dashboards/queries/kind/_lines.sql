(
    SELECT component, line, function, library, state, samples, time_ns
    FROM other_1m
    WHERE minute >= toDateTime(minutes_from_s, 'UTC') AND minute < toDateTime(minutes_to_s, 'UTC')
        AND $__conditionalAll(0, $version)
        AND service != 'walltime.doctor'
        AND $__conditionalAll(service IN (${service:singlequote}), $service)
        AND $__conditionalAll(name IN (${kind:singlequote}), $kind)
    UNION ALL
    SELECT
        sample.component, sample.line, sample.function, sample.library, sample.state, toUInt64(sample.count),
        sample.time_ns
    FROM
    (
        SELECT started_at, service, name AS kind, version, host, environment, attributes, sample
        FROM transactions
    )
    ARRAY JOIN sample
    WHERE started_at >= from_at AND started_at < to_at
        AND (started_at < toDateTime64(minutes_from_s, 9, 'UTC') OR started_at >= toDateTime64(minutes_to_s, 9, 'UTC')
            OR NOT $__conditionalAll(0, $version))
        -- include chosen
)
