-- Which statements waited for row locks according to the slow log, in which kinds, and how long?
WITH waits AS
(
    SELECT
        trace_id, span_id, fingerprint_id, fingerprint, weight, greatest(lock_ns, row_lock_ns) + likely_row_lock_ns AS locked_ns
    FROM slow_queries
    WHERE greatest(lock_ns, row_lock_ns) + likely_row_lock_ns >= {least_ns:UInt64} AND trace_id != toFixedString('', 16)
        AND match(fingerprint, '^(update|delete|insert|replace)|for update|for share|lock in share mode') AND
-- include _log_scope.sql
    ORDER BY locked_ns DESC, trace_id
    LIMIT {limit:UInt32}
)
SELECT
    toString(fingerprint_id) AS fingerprint_id,
    any(fingerprint) AS fingerprint_text,
    count() AS waits,
    groupArray((service, name, waits.locked_ns * weight)) AS locked,
    sumMap([span], [waits.locked_ns]) AS spans,
    arraySlice(arrayReverseSort(groupArray((waits.locked_ns, start_ns, end_ns))), 1, {most:UInt32}) AS longest
FROM
(
    SELECT
        trace_id, span_id, lower(hex(span_id)) AS span, service, name, toUnixTimestamp64Nano(started_at) AS start_ns,
        toUnixTimestamp64Nano(started_at) + duration_ns AS end_ns
    FROM transactions
    WHERE trace_id IN (SELECT trace_id FROM waits) AND
-- include _scope.sql
) AS waiting
INNER JOIN waits USING (trace_id, span_id)
GROUP BY fingerprint_id
ORDER BY sum(waits.locked_ns * weight) DESC, fingerprint_id
