    -- the sums per minute of a Scope whose `is_in_minutes` is true; use only with a window of whole minutes
    minute >= toDateTime(intDiv({start_ns:Int64}, 1000000000), 'UTC') AND minute < toDateTime(intDiv({end_ns:Int64}, 1000000000), 'UTC')
    AND ({service:String} = '' AND service != 'walltime.doctor' OR service = {service:String})
    AND ({kind:String} = '' OR name = {kind:String})
