    toUnixTimestamp(($__fromTime)) AS from_s,
    toUnixTimestamp(($__toTime)) AS to_s,
    -- include divided
