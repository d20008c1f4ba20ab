-- Operations per second
-- Of all clients, as the server counts them.
-- include points
SELECT s.time AS time, s.place AS place, s.label AS server, s.commands / nullIf(s.over_ns, 0) * 1e9 AS value
FROM
-- include said_points
AS s
ORDER BY time, place
