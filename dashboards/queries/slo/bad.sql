-- Failed and too slow
-- The share of transactions at each point; a point that failed and was slow counts as failed.
-- include points
-- include target
SELECT
    toDateTime(intDiv(toUnixTimestamp(started_at), point_s) * point_s, 'UTC') AS time,
    nullIf(countIf(is_error), 0) / count() AS failed,
    nullIf(countIf(NOT is_error AND duration_ns > limit_ns), 0) / count() AS slow
FROM kinds_each
WHERE started_at >= from_at AND started_at < to_at
-- include chosen
GROUP BY time
ORDER BY time WITH FILL STEP point_s
