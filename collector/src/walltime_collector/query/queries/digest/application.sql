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
    UNION ALL -- beside whole minutes
    SELECT service, name, sent.text, sent.calls, sent.time_ns, sent.errors
    FROM {source:Identifier} AS transactions
    ARRAY JOIN statement AS sent
    WHERE
-- include _beside_minutes.sql
)
GROUP BY text, service, name
ORDER BY time_ns DESC, text, service, name
LIMIT {limit:UInt32}
