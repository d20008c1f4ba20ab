-- Failed and too slow
-- The share of transactions at each point; one that failed and was slow counts as failed.
-- include points
-- include target
SELECT time, nullIf(failures, 0) / number AS failed, nullIf(c.slow, 0) / number AS slow
FROM
-- include counts
AS c
ORDER BY time
