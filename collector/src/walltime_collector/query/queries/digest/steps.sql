-- What did statements with these texts cost the applications, in each step of the window?
SELECT text, step, sum(calls) AS calls, sum(time_ns) AS time_ns, sum(errors) AS errors
FROM
(
    SELECT intDiv(toUnixTimestamp(minute), {step_s:Int64}) AS step, text, calls, time_ns, errors
    FROM statements_1m
    WHERE text IN {texts:Array(String)} AND
-- include _whole_minutes.sql
    UNION ALL -- beside whole minutes
    SELECT intDiv(toUnixTimestamp(toDateTime(started_at)), {step_s:Int64}), sent.text, sent.calls, sent.time_ns, sent.errors
    FROM {source:Identifier} AS transactions
    ARRAY JOIN statement AS sent
    WHERE sent.text IN {texts:Array(String)} AND
-- include _beside_minutes.sql
)
GROUP BY text, step
ORDER BY text, step
