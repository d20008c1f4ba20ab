    -- the transactions of a Scope (scope.py), or a sample of them: the third line is the first column of the order of
    -- sampled_transactions
    started_at >= fromUnixTimestamp64Nano({start_ns:Int64}, 'UTC') AND started_at < fromUnixTimestamp64Nano({end_ns:Int64}, 'UTC')
    AND ({sample_level:UInt8} = 0 OR bitCount(bitXor(cityHash64(trace_id), cityHash64(trace_id) - 1)) > {sample_level:UInt8})
    AND ({service:String} = '' AND service != 'walltime.doctor' OR service = {service:String})
    AND ({kind:String} = '' OR name = {kind:String})
-- include _filters.sql
