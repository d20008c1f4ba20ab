    walltime_health AS h
    WHERE minute >= toStartOfMinute(toDateTime(from_s, 'UTC')) AND minute < toDateTime(to_s, 'UTC')
