-- Connections
-- Open at most in each point.
-- include points
SELECT s.time AS time, s.place AS place, s.label AS server, if(s.over_ns > 0, s.most_connected, NULL) AS value
FROM
-- include said_points
AS s
ORDER BY time, place
