WITH
    toUnixTimestamp(($__fromTime)) AS from_s,
    toUnixTimestamp(($__toTime)) AS to_s,
    -- a row is a minute
    intDiv(($__interval_s) + 59, 60) * 60 AS step_s
