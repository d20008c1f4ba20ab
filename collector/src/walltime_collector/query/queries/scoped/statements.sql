-- What did each statement cost, as the application wrote it? From the sums of whole minutes, and one by one beside them,
-- there of every n-th step.
SELECT text, sum(each.calls) AS calls, sum(each.time_ns) AS time_ns, sum(each.errors) AS errors
FROM
(
    SELECT text, calls, time_ns, errors
    FROM statements_1m
    WHERE
-- include _whole_minutes.sql
    UNION ALL
    SELECT statement.text, sum(statement.calls), sum(statement.time_ns), sum(statement.errors)
    FROM transactions
    ARRAY JOIN statement.text, statement.calls, statement.time_ns, statement.errors
    WHERE
-- include _beside_minutes.sql
        AND ({every:UInt32} = 1 OR intDiv(toUnixTimestamp64Nano(started_at) - {start_ns:Int64}, {chart_step_ns:Int64}) % {every:UInt32} = 0)
    GROUP BY statement.text
) AS each
GROUP BY text
ORDER BY time_ns DESC, text
LIMIT {limit:UInt32}
