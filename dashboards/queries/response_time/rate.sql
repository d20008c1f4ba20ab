-- Transactions per second
-- None is 0, not a gap; a point that sticks out of the time shown counts with the part inside.
-- include points
SELECT time, transactions / seconds AS transactions
FROM
-- include kind_points
ORDER BY time
