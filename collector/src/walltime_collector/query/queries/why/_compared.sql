    started_at >= fromUnixTimestamp64Nano({slow_start_ns:Int64}, 'UTC') AND started_at < fromUnixTimestamp64Nano({slow_end_ns:Int64}, 'UTC') AS is_in_slow_window,
    started_at >= fromUnixTimestamp64Nano({usual_start_ns:Int64}, 'UTC') AND started_at < fromUnixTimestamp64Nano({usual_end_ns:Int64}, 'UTC') AS is_in_usual_window,
    is_in_slow_window AND duration_ns >= {threshold_ns:UInt64}
    -- when
    AS is_slow,
    duration_ns > {bound_ns:UInt64} AS is_single,
    service = {service:String} AND name = {kind:String} AND (is_in_slow_window OR is_in_usual_window)
-- include _some_minutes.sql
-- include _filters.sql
    AS is_of_a_side,
    is_of_a_side AND NOT is_single AS is_compared
