        -- entries of the slow log or performance_schema of this window; with a filter, those of the transactions chosen
        started_at >= from_at AND started_at < to_at
        -- include log_of
        AND $__conditionalAll(service IN (${service:singlequote}) OR service = '', $service)
        AND (
            $__conditionalAll(0, $service) AND $__conditionalAll(0, $kind) AND $__conditionalAll(0, $version)
                AND $__conditionalAll(0, $host) AND $__conditionalAll(0, $environment) AND ${filter:singlequote} = ''
            OR trace_id IN (
                SELECT trace_id FROM kinds_each
                WHERE started_at >= from_at AND started_at < to_at
                    AND NOT ($__conditionalAll(0, $service) AND $__conditionalAll(0, $kind) AND $__conditionalAll(0, $version)
                        AND $__conditionalAll(0, $host) AND $__conditionalAll(0, $environment) AND ${filter:singlequote} = '')
                    -- include chosen
            ))
