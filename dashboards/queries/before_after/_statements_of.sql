        SELECT statement, sum(s.calls) AS called, sum(s.time_ns) AS ns
        FROM
        -- include statements
        AS s
        WHERE $__conditionalAll(version IN (${{of}:singlequote}), {is})
        GROUP BY statement
