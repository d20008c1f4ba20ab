WITH
    -- of the window (tables, tiles): all whole minutes are read from their sums
    60 AS point_s,
    -- include minutes
