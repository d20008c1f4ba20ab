-- How many roots a window has at most, their times, and how many spans of their services are in their traces.
-- The times have an hour more at both ends: spans outlive their root, and its parent began before it.
WITH
    roots AS
    (
        SELECT trace_id, service, started_at, duration_ns
        FROM foreign_roots
        WHERE loaded_at >= toDateTime({since_s:UInt32}, 'UTC') AND loaded_at < toDateTime({until_s:UInt32}, 'UTC')
    ),
    (SELECT (min(started_at) - INTERVAL 1 HOUR, max(addNanoseconds(started_at, duration_ns)) + INTERVAL 1 HOUR,
            count()) FROM roots) AS extent
SELECT extent.3 AS roots, toUnixTimestamp64Nano(extent.1) AS first_ns, toUnixTimestamp64Nano(extent.2) AS last_ns,
    count() AS spans
FROM spans
WHERE trace_id IN (SELECT trace_id FROM roots) AND (trace_id, service) IN (SELECT trace_id, service FROM roots)
    AND component = ''
    AND started_at BETWEEN extent.1 AND extent.2
