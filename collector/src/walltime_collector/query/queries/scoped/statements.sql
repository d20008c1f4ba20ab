-- What did each statement cost, as the application wrote it? From the sums of whole minutes, and one by one beside them,
-- there of every n-th step.
SELECT text, sum(each.calls) AS calls, sum(each.time_ns) AS time_ns, sum(each.errors) AS errors
FROM
(
    SELECT text, calls, time_ns, errors
    FROM statements_1m
    WHERE
-- include _whole_minutes.sql
    UNION ALL -- beside whole minutes
    SELECT sent.text, sum(sent.calls), sum(sent.time_ns), sum(sent.errors)
    FROM {source:Identifier} AS transactions
    ARRAY JOIN statement AS sent
    WHERE
-- include _beside_minutes.sql
        AND ({every:UInt32} = 1 OR intDiv(toUnixTimestamp64Nano(started_at) - {start_ns:Int64}, {chart_step_ns:Int64}) % {every:UInt32} = 0)
    GROUP BY sent.text
) AS each
GROUP BY text
ORDER BY time_ns DESC, text
LIMIT {limit:UInt32}
