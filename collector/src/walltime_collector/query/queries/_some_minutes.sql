    -- all minutes, or only these (a sample)
    AND (empty({minutes:Array(Int64)}) OR toStartOfMinute(started_at) IN (SELECT toDateTime(arrayJoin({minutes:Array(Int64)}), 'UTC')))
