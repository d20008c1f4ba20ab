    , (
        -- as long as the {rows}th longest of the window, or less: only what took longer is read with its other columns
        SELECT if(count() < {rows}, 0, min(ns))
        FROM
        (
            SELECT max_ns AS ns
            FROM kinds_by_minute
            WHERE minute >= toDateTime(minutes_from_s, 'UTC') AND minute < toDateTime(minutes_to_s, 'UTC')
                AND service != 'walltime.doctor'
                AND $__conditionalAll(service IN (${service:singlequote}), $service)
                AND $__conditionalAll(kind IN (${kind:singlequote}), $kind)
                AND $__conditionalAll(version IN (${version:singlequote}), $version)
            ORDER BY ns DESC
            LIMIT {rows}
            UNION ALL
            SELECT duration_ns
            FROM kinds_each
            WHERE NOT has_minutes AND started_at >= from_at AND started_at < to_at
            -- include chosen
            ORDER BY duration_ns DESC
            LIMIT {rows}
        )
    ) AS slow_ns
