-- Old row versions
-- That InnoDB keeps (history list length) because a transaction is open that may read them. It grows while one is forgotten.
-- include points
SELECT s.time AS time, s.place AS place, s.label AS server, s.history_list AS value
FROM
-- include said_points
AS s
ORDER BY time, place
