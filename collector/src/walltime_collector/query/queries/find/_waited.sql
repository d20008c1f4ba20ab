    -- the time that a trace waited for locks, for sorting: 0 for all but those of the window that waited longest; clocks may differ
    (
        SELECT mapFromArrays(groupArray(trace_id), groupArray(waited_ns))
        FROM
        (
            SELECT trace_id, toInt64(sum(greatest(lock_ns, row_lock_ns) + likely_row_lock_ns)) AS waited_ns
            FROM slow_queries
            WHERE trace_id != toFixedString('', 16)
                AND started_at >= fromUnixTimestamp64Nano({start_ns:Int64}, 'UTC') - INTERVAL 1 HOUR
                AND started_at < fromUnixTimestamp64Nano({end_ns:Int64}, 'UTC') + INTERVAL 1 HOUR
            GROUP BY trace_id
            HAVING waited_ns > 0
            ORDER BY waited_ns DESC
            LIMIT 10000
        )
    )[transactions.trace_id]
