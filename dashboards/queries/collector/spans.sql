-- Spans per second
-- What all collectors received and stored. A gap is a time when none wrote its counters.
-- include points
SELECT
    toDateTime(intDiv(toUnixTimestamp(minute), greatest(60, point_s)) * greatest(60, point_s), 'UTC') AS time,
    sum(h.received) / greatest(60, point_s) AS received,
    sum(h.stored) / greatest(60, point_s) AS stored
FROM
-- include health
GROUP BY time
ORDER BY time
