-- Spans per second
-- What all collectors received and stored. A gap is a time when none wrote its counters.
-- include steps
SELECT
    toDateTime(intDiv(toUnixTimestamp(minute), step_s) * step_s, 'UTC') AS time,
    toNullable(sum(h.received)) / step_s AS received,
    toNullable(sum(h.stored)) / step_s AS stored
FROM
-- include health
GROUP BY time
ORDER BY time WITH FILL FROM toDateTime(intDiv(from_s, step_s) * step_s, 'UTC') TO toDateTime(to_s, 'UTC') STEP step_s
