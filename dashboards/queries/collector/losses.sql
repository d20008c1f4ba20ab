-- Spans that were not stored
-- `rejected` are malformed or too large, `dead` were refused by the database and are kept in files, `lost` are gone. `refused` are requests: applications send them again.
-- include steps
SELECT
    toDateTime(intDiv(toUnixTimestamp(minute), step_s) * step_s, 'UTC') AS time,
    toFloat64(nullIf(sum(h.rejected), 0)) AS rejected,
    toFloat64(nullIf(sum(h.dead), 0)) AS dead,
    toFloat64(nullIf(sum(h.lost), 0)) AS lost,
    toFloat64(nullIf(sum(h.refused), 0)) AS refused
FROM
-- include health
GROUP BY time
ORDER BY time WITH FILL FROM toDateTime(intDiv(from_s, step_s) * step_s, 'UTC') TO toDateTime(to_s, 'UTC') STEP step_s
