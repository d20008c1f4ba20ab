-- Which statements take the applications' time, and which kinds of transaction send them?
SELECT
    text,
    service,
    name,
    sum(calls) AS calls,
    sum(time_ns) AS time_ns,
    sum(errors) AS errors,
    sum(time_ns) OVER () AS all_time_ns
FROM
(
    SELECT service, name, text, calls, time_ns, errors
    FROM statements_1m
    WHERE
-- include _whole_minutes.sql
    UNION ALL
    SELECT service, name, statement.text, statement.calls, statement.time_ns, statement.errors
    FROM transactions
    ARRAY JOIN statement
    WHERE
-- include _beside_minutes.sql
)
GROUP BY text, service, name
ORDER BY time_ns DESC, text, service, name
LIMIT {limit:UInt32}
