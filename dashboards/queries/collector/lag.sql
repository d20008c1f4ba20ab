-- Lag
-- How long the oldest data waited on a collector's disk before it was in the database: the most at each point.
-- include points
SELECT
    toDateTime(intDiv(toUnixTimestamp(minute), greatest(60, point_s)) * greatest(60, point_s), 'UTC') AS time,
    max(spool_oldest_s) * 1e9 AS lag
FROM
-- include health
GROUP BY time
ORDER BY time
