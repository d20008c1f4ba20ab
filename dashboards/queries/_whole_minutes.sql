    WHERE minute >= toDateTime(minutes_from_s, 'UTC') AND minute < toDateTime(minutes_to_s, 'UTC')
        AND service != 'walltime.doctor'
        AND $__conditionalAll(service IN (${service:singlequote}), $service)
        AND $__conditionalAll(kind IN (${kind:singlequote}), $kind)
        AND $__conditionalAll(version IN (${version:singlequote}), $version)
