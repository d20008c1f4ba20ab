-- Spool
-- Bytes that wait on the disks of all collectors.
-- include steps
SELECT time, toNullable(toFloat64(sum(most))) AS spool
FROM
(
    SELECT
        toDateTime(intDiv(toUnixTimestamp(minute), step_s) * step_s, 'UTC') AS time,
        collector, max(spool_bytes) AS most
    FROM
    -- include health
    GROUP BY time, collector
)
GROUP BY time
ORDER BY time WITH FILL FROM toDateTime(intDiv(from_s, step_s) * step_s, 'UTC') TO toDateTime(to_s, 'UTC') STEP step_s
