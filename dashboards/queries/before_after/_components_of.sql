        SELECT component, sum(c.time_ns) AS ns, sum(c.calls) AS called, sum(sum(c.transactions)) OVER () AS number
        FROM
        -- include components
        AS c
        WHERE $__conditionalAll(version IN (${{of}:singlequote}), {is})
        GROUP BY component
