(
    SELECT *, greatest(1, least(toUnixTimestamp(time) + point_s, to_s) - greatest(toUnixTimestamp(time), from_s)) AS seconds
    FROM
    (
        SELECT time, sum(r.calls) AS calls, sum(r.time_ns) AS ns, sum(r.errors) AS errors, sum(r.transactions) AS senders
        FROM
        -- include rows
        AS r
        GROUP BY time
        ORDER BY time WITH FILL STEP point_s
    )
)
