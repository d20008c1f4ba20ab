-- How many roots may there be in a window, and how many spans of their services in their traces?
WITH roots AS
(
    SELECT trace_id, service, started_at, duration_ns
    FROM foreign_roots
    WHERE loaded_at >= toDateTime({since_s:UInt32}, 'UTC') AND loaded_at < toDateTime({until_s:UInt32}, 'UTC')
)
SELECT (SELECT count() FROM roots) AS roots, count() AS spans
FROM spans
WHERE trace_id IN (SELECT trace_id FROM roots) AND (trace_id, service) IN (SELECT trace_id, service FROM roots) AND component = ''
    AND started_at BETWEEN (SELECT min(started_at) FROM roots) - INTERVAL 1 HOUR AND (SELECT max(addNanoseconds(started_at, duration_ns)) FROM roots) + INTERVAL 1 HOUR
