-- Calls per second
-- Of what is chosen, by all kinds.
-- include points
SELECT time, calls / seconds AS calls
FROM
-- include kind_points
ORDER BY time
