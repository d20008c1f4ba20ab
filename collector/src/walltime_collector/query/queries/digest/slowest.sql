-- In which transactions did a statement take the most time? Of whole minutes only those in which it took the most per
-- transaction are read.
WITH slowest_minutes AS
(
    SELECT service, name, minute
    FROM statements_1m
    WHERE text IN {texts:Array(String)} AND
-- include _whole_minutes.sql
    GROUP BY service, name, minute
    ORDER BY sum(time_ns) / sum(transactions) DESC
    LIMIT {most_minutes:UInt32}
)
SELECT
    lower(hex(trace_id)) AS trace,
    toUnixTimestamp64Nano(started_at) AS started_ns,
    service,
    name,
    duration_ns,
    kept,
    arraySum((text, calls) -> if(has({texts:Array(String)}, text), calls, 0), statement.text, statement.calls) AS calls,
    arraySum((text, time_ns) -> if(has({texts:Array(String)}, text), time_ns, 0), statement.text, statement.time_ns) AS time_ns
FROM {source:Identifier} AS transactions
WHERE hasAny(statement.text, {texts:Array(String)})
    AND concat(service, '\t', name) IN {kinds:Array(String)}
    AND (
        started_at < toDateTime64({minutes_start_s:Int64}, 9, 'UTC') OR started_at >= toDateTime64({minutes_end_s:Int64}, 9, 'UTC')
        OR (service, name, toStartOfMinute(started_at)) IN slowest_minutes) AND
-- include _scope.sql
ORDER BY time_ns DESC, trace_id
LIMIT {limit:UInt32}
