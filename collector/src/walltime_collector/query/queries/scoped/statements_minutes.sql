-- The same from the sums per minute.
SELECT text, sum(t.calls) AS calls, sum(t.time_ns) AS time_ns, sum(t.errors) AS errors
FROM statements_1m AS t
WHERE
-- include _scope_minutes.sql
GROUP BY text
ORDER BY time_ns DESC, text
LIMIT {limit:UInt32}
