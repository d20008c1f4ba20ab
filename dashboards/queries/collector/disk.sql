-- Free disk
-- Of the disk with a collector's data: its spool, and the database where that is inside of it. Below a tenth `walltime doctor` fails; a full disk accepts no data.
-- include steps
SELECT
    toDateTime(intDiv(toUnixTimestamp(minute), step_s) * step_s, 'UTC') AS time,
    repeat(char(226, 128, 139), toInt64(dense_rank() OVER (ORDER BY host))) AS place,
    toString(h.host) AS host,
    min(others['disk_free_bytes'] / nullIf(others['disk_bytes'], 0)) AS free
FROM
-- include health
GROUP BY time, host
ORDER BY time, place
