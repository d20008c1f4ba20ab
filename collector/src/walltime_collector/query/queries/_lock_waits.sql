    -- the waits for locks of a window: of the rows of a wait that goes on, the last one counts
    SELECT *
    FROM lock_waits
    WHERE started_at >= fromUnixTimestamp64Nano({start_ns:Int64}, 'UTC') AND started_at < fromUnixTimestamp64Nano({end_ns:Int64}, 'UTC')
    ORDER BY updated_at DESC, waited_ns DESC
    LIMIT 1 BY server, started_at, connection_id, holder_connection_id
