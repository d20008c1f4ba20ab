WITH
    -- a window of the same length, so many seconds before the one shown
    60 AS point_s,
    toUnixTimestamp(($__fromTime)) - ({by}) AS from_s,
    toUnixTimestamp(($__toTime)) - ({by}) AS to_s,
    -- include divided
