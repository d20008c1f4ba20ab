-- Statements per second
-- All that the server was sent, by any client.
-- include points
SELECT s.time AS time, s.place AS place, s.label AS server, s.queries / nullIf(s.over_ns, 0) * 1e9 AS value
FROM
-- include said_points
AS s
ORDER BY time, place
