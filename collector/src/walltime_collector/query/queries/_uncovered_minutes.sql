        SELECT
            minute, service, name, transactions, errors, duration_ns, cpu_ns,
            other_ns + custom_time_ns['view'] + custom_time_ns['middleware'] AS uncovered_ns,
            0 AS sampled_ns
        FROM transactions_1m
        UNION ALL -- how much of uncovered_ns is on a line that was sampled
        SELECT minute, service, name, 0, 0, 0, 0, 0, time_ns
        FROM other_1m
        WHERE component IN ('other', 'view', 'middleware') AND (line != '' OR library != '')
