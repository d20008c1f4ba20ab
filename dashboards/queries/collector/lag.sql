-- Lag
-- How long the oldest data waited on a collector's disk before it was in the database: the most at each point.
-- include steps
SELECT
    toDateTime(intDiv(toUnixTimestamp(minute), step_s) * step_s, 'UTC') AS time,
    toNullable(max(spool_oldest_s)) * 1e9 AS lag
FROM
-- include health
GROUP BY time
ORDER BY time WITH FILL FROM toDateTime(intDiv(from_s, step_s) * step_s, 'UTC') TO toDateTime(to_s, 'UTC') STEP step_s
