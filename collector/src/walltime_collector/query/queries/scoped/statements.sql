-- What did each statement cost, as the application wrote it?
SELECT
    statement.text AS text,
    sum(statement.calls) AS calls,
    sum(statement.time_ns) AS time_ns,
    sum(statement.errors) AS errors
FROM transactions
ARRAY JOIN statement.text, statement.calls, statement.time_ns, statement.errors
WHERE
-- include _scope.sql
GROUP BY text
ORDER BY time_ns DESC, text
LIMIT {limit:UInt32}
