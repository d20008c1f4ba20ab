WITH
    -- the window of the same length before the one shown
    60 AS point_s,
    toUnixTimestamp(($__fromTime)) AS to_s,
    2 * to_s - toUnixTimestamp(($__toTime)) AS from_s,
    -- include divided
