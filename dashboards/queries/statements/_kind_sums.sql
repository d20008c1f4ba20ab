(
    SELECT
        sum(r.calls) AS calls, sum(r.time_ns) AS ns, sum(r.errors) AS errors, sum(r.transactions) AS senders,
        greatest(1, to_s - greatest(from_s, toUnixTimestamp(min(r.time)))) AS seconds
    FROM
    -- include rows
    AS r
)
