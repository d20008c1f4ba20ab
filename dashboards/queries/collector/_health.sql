    walltime_health AS h
    WHERE minute >= toStartOfMinute(from_at) AND minute < to_at
