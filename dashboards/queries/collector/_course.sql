-- include steps
SELECT
    toDateTime(intDiv(toUnixTimestamp(minute), step_s) * step_s, 'UTC') AS time,
    toNullable(sum(h.received)) / step_s AS received,
    toNullable(sum(h.stored)) / step_s AS stored,
    toFloat64(nullIf(sum(h.rejected), 0)) AS rejected,
    toFloat64(nullIf(sum(h.dead), 0)) AS dead,
    toFloat64(nullIf(sum(h.lost), 0)) AS lost,
    toFloat64(nullIf(sum(h.refused), 0)) AS refused,
    toNullable(max(spool_oldest_s)) * 1e9 AS lag,
    min(h.others['disk_free_bytes'] / nullIf(h.others['disk_bytes'], 0)) AS free
FROM
-- include health
GROUP BY time
ORDER BY time WITH FILL FROM toDateTime(intDiv(from_s, step_s) * step_s, 'UTC') TO toDateTime(to_s, 'UTC') STEP step_s
