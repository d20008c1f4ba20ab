-- How long did the same calls of a statement take for the application and for the database? Of some transactions whose calls
-- of it are all in the slow log.
WITH logged AS
(
    SELECT trace_id, span_id, count() AS entries, sum(query_ns) AS logged_ns
    FROM slow_queries
    WHERE trace_id != toFixedString('', 16) AND weight = 1 AND
-- include _log_scope.sql
    GROUP BY trace_id, span_id
    ORDER BY trace_id, span_id
    LIMIT {limit:UInt32}
)
SELECT count() AS transactions, sum(sent_calls) AS calls, sum(sent_ns) AS client_ns, sum(logged_ns) AS server_ns
FROM
(
    SELECT
        trace_id, span_id, arraySum((text, calls) -> if(has({texts:Array(String)}, text), calls, 0), statement.text, statement.calls) AS sent_calls,
        arraySum((text, time_ns) -> if(has({texts:Array(String)}, text), time_ns, 0), statement.text, statement.time_ns) AS sent_ns
    FROM transactions
    WHERE trace_id IN (SELECT trace_id FROM logged) AND
-- include _scope.sql
) AS sent
INNER JOIN logged USING (trace_id, span_id)
WHERE sent_calls = entries AND sent_ns >= logged_ns
