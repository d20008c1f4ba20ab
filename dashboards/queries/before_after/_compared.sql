WITH
    toUnixTimestamp(($__toTime)) - toUnixTimestamp(($__fromTime)) AS window_s,
    if(window_s >= 1200, 60, greatest(1, intDiv(window_s, 20))) AS point_s,
    toUnixTimestamp(($__fromTime)) - ({by}) AS from_s,
    toUnixTimestamp(($__toTime)) - ({by}) AS to_s,
    -- include divided
