-- Replication lag
-- How far a replica is behind, the worst of its channels. Nothing: no replica, or stopped.
-- include points
SELECT s.time AS time, s.place AS place, s.label AS server, s.replication_lag_ns AS value
FROM
-- include said_points
AS s
ORDER BY time, place
