-- How many statements it works on
-- Of all clients, also those without Walltime: the mean of each point, without the collector's own.
-- include points
SELECT s.time AS time, s.place AS place, s.label AS server, s.threads_running AS value
FROM
-- include said_points
AS s
ORDER BY time, place
