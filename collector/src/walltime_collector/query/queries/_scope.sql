    -- the transactions of a Scope (scope.py)
    started_at >= fromUnixTimestamp64Nano({start_ns:Int64}, 'UTC') AND started_at < fromUnixTimestamp64Nano({end_ns:Int64}, 'UTC')
    AND ({service:String} = '' AND service != 'walltime.doctor' OR service = {service:String})
    AND ({kind:String} = '' OR name = {kind:String})
-- include _filters.sql
