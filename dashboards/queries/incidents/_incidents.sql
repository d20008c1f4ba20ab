    (
        SELECT * EXCEPT (kind), name AS kind
        FROM
        (
            SELECT *, '' AS kind
            FROM incidents
            WHERE $__conditionalAll(service IN (${service:singlequote}), $service)
                AND $__conditionalAll(name IN (${kind:singlequote}), $kind)
            -- the newest state of each; what has ended stays so, whatever the clocks of collectors say
            ORDER BY is_open, updated_at DESC
            LIMIT 1 BY id
        )
        WHERE $__conditionalAll(severity IN (${severity:singlequote}), $severity)
            AND $__conditionalAll(if(is_open, 'open', 'over') IN (${state:singlequote}), $state)
            AND (is_open OR started_at <= ($__toTime) AND ended_at >= ($__fromTime))
    )
