-- Hit ratio, of all clients
-- As the server counts it: also clients without Walltime.
-- include points
SELECT s.time AS time, s.place AS place, s.label AS server, s.hits / nullIf(s.hits + s.misses, 0) AS value
FROM
-- include said_points
AS s
ORDER BY time, place
