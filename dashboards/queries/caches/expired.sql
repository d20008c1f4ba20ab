-- Items expired per second
-- Removed because their time was over.
-- include points
SELECT s.time AS time, s.place AS place, s.label AS server, s.expired / nullIf(s.over_ns, 0) * 1e9 AS value
FROM
-- include said_points
AS s
ORDER BY time, place
