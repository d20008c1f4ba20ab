    -- the sums per minute of a Scope: its whole minutes, or none (Scope.divided)
    minute >= toDateTime({minutes_start_s:Int64}, 'UTC') AND minute < toDateTime({minutes_end_s:Int64}, 'UTC')
    AND ({service:String} = '' AND service != 'walltime.doctor' OR service = {service:String})
    AND ({kind:String} = '' OR name = {kind:String})
