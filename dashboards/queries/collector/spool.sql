-- Spool
-- Bytes that wait on the disks of all collectors.
-- include points
SELECT time, toFloat64(sum(most)) AS spool
FROM
(
    SELECT
        toDateTime(intDiv(toUnixTimestamp(minute), greatest(60, point_s)) * greatest(60, point_s), 'UTC') AS time,
        collector, max(spool_bytes) AS most
    FROM
    -- include health
    GROUP BY time, collector
)
GROUP BY time
ORDER BY time
