-- Statements, as the application sees them
-- By total time. `calls per transaction` is of those that send it: far above 1 is a loop that queries.
SELECT
    text AS "statement",
    sum(time_ns) AS "time",
    sum(time_ns) / nullIf(sum(sum(time_ns)) OVER (), 0) AS "share",
    sum(calls) AS "calls made",
    sum(calls) / count() AS "calls per transaction",
    if(sum(calls) = 0, NULL, sum(time_ns) / sum(calls)) AS "per call",
    sum(failed) AS "errors",
    arrayStringConcat(arraySort(groupUniqArray(10)(name)), ', ') AS "sent by",
    lower(hex(argMax(trace_id, time_ns))) AS "example"
FROM transactions
ARRAY JOIN
    statement.text AS text, statement.calls AS calls, statement.time_ns AS time_ns, statement.errors AS failed
WHERE $__timeFilter(started_at)
    AND $__conditionalAll(service IN (${service:singlequote}), $service)
    AND $__conditionalAll(name IN (${kind:singlequote}), $kind)
GROUP BY text
ORDER BY "time" DESC
LIMIT 100
