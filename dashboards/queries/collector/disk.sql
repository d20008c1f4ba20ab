-- Free disk
-- Of the disk with a collector's data: its spool, and the database where that is inside of it. Of several collectors the fullest one. Below a tenth `walltime doctor` fails; a full disk accepts no data.
-- include steps
SELECT
    toDateTime(intDiv(toUnixTimestamp(minute), step_s) * step_s, 'UTC') AS time,
    min(h.others['disk_free_bytes'] / nullIf(h.others['disk_bytes'], 0)) AS free
FROM
-- include health
GROUP BY time
ORDER BY time WITH FILL FROM toDateTime(intDiv(from_s, step_s) * step_s, 'UTC') TO toDateTime(to_s, 'UTC') STEP step_s
