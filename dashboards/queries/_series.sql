(
    SELECT
        time,
        greatest(1, least(toUnixTimestamp(time) + point_s, to_s) - greatest(toUnixTimestamp(time), from_s)) AS seconds,
        all_transactions AS transactions,
        each.1 AS position,
        -- Grafana's plugin puts series in the order of their first text: so many letters that nobody sees
        repeat(char(226, 128, 139), indexOf(every, each)) AS place,
        each.3 AS series,
        time_ns_of[series] AS time_ns,
        calls_of[series] AS calls,
        errors_of[series] AS errors,
        hits_of[series] AS hits,
        misses_of[series] AS misses
    FROM
    (
        SELECT *, arraySort(groupUniqArrayArray(here) OVER ()) AS every
        FROM
        (
            SELECT
                time,
                sum(n) AS all_transactions,
                groupUniqArrayIf((if(is_small, 10, place), if(is_small OR '{by}' = 'server', 0, -total), shown), is_meant) AS here,
                sumMap(map(shown, time_ns)) AS time_ns_of,
                sumMap(map(shown, calls)) AS calls_of,
                sumMap(map(shown, errors)) AS errors_of,
                sumMap(map(shown, hits)) AS hits_of,
                sumMap(map(shown, misses)) AS misses_of
            FROM
            (
                SELECT
                    *,
                    total < 0.01 OR total < arrayReverseSort(groupUniqArrayIf(total, is_meant) OVER ())[12] AS is_small,
                    if(is_small, '(others)', series) AS shown
                FROM
                (
                    SELECT
                        time,
                        '{of}' = 'all' OR family = '{of}' AS is_meant,
                        if(is_meant AND '{by}' IN ('component', 'family'), position, 0) AS place,
                        if(is_meant, toString({by}), '') AS series,
                        sum(c.transactions) AS n,
                        sum(c.time_ns) AS time_ns, sum(c.calls) AS calls, sum(c.errors) AS errors, sum(c.hits) AS hits, sum(c.misses) AS misses,
                        sum(time_ns) OVER (PARTITION BY series, is_meant) / greatest(1, sum(if(is_meant, time_ns, 0)) OVER ()) AS of_time,
                        sum(calls) OVER (PARTITION BY series, is_meant) / greatest(1, sum(if(is_meant, calls, 0)) OVER ()) AS of_calls,
                        {share} AS total
                    FROM
                    -- include rows
                    AS c
                    GROUP BY time, is_meant, place, series
                )
            )
            GROUP BY time
            ORDER BY time WITH FILL STEP point_s
        )
    )
    ARRAY JOIN every AS each
)
