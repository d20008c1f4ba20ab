-- Connections in use
-- Of those allowed (max_connections); at 100 % new ones are refused.
-- include points
SELECT s.time AS time, s.place AS place, s.label AS server, if(s.over_ns > 0, s.most_connected / nullIf(s.max_connections, 0), NULL) AS value
FROM
-- include said_points
AS s
ORDER BY time, place
