WITH
    -- of whole minutes: they are read from their sums
    intDiv({step} + 59, 60) * 60 AS point_s,
    {from} AS from_s,
    toUnixTimestamp(($__toTime)) AS to_s,
    -- include divided
