WITH
    toUnixTimestamp(($__fromTime)) AS from_s,
    toUnixTimestamp(($__toTime)) AS to_s,
    -- of what has a row a minute, or none
    intDiv(($__interval_s) + 59, 60) * 60 AS step_s
