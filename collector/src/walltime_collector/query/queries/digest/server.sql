-- Which statements take the database's time, according to its slow log or performance_schema?
-- `weight` is how many statements an entry represents when the server logs only one in n. `kinds` are those that the comments
-- name: service and route, with entries, statements and time of each. A t-digest interpolates between entries of different weights:
-- with one entry of 10 ms for 100 statements and one of 12 s for itself, its p95 is 11 s.
SELECT
    fingerprint_id,
    any(fingerprint) AS fingerprint_text,
    count() AS entries,
    sum(weight) AS calls,
    sum(query_ns * weight) AS time_ns,
    max(query_ns) AS max_ns,
    toUnixTimestamp64Micro(max(slow_queries.started_at)) AS last_us,
    time_ns / calls AS mean_ns,
    quantileBFloat16Weighted(0.95)(query_ns, weight) AS p95_ns,
    sum(lock_ns * weight) AS lock_ns,
    sum(row_lock_ns * weight) AS row_lock_ns,
    sum(io_wait_ns * weight) AS io_wait_ns,
    sum(cpu_ns * weight) AS cpu_ns,
    arraySort(groupUniqArray(source)) AS sources,
    sum(rows_sent * weight) AS rows_sent,
    sum(rows_examined * weight) AS rows_examined,
    sum(rows_affected * weight) AS rows_affected,
    sumIf(weight, errno > 0) AS errors,
    least(greatest(lock_ns, row_lock_ns) / greatest(time_ns, 1), 1) AS lock_share,
    rows_examined / greatest(rows_sent + rows_affected, 1) AS examined_per_row,
    sumIf(weight, is_full_scan) AS full_scans,
    full_scans / calls AS full_scan_share,
    countIf(trace_id != toFixedString('', 16)) AS joined,
    sumMap([concat(service, '\t', route)], [toUInt64(weight)], [query_ns * weight]) AS kinds,
    sum(time_ns) OVER () AS all_time_ns,
    sum(entries) OVER () AS all_entries,
    arraySort(groupUniqArrayArray(sources) OVER ()) AS all_sources
FROM slow_queries
WHERE
-- include _log_scope.sql
GROUP BY fingerprint_id
ORDER BY time_ns DESC, fingerprint_id
LIMIT {limit:UInt32}
