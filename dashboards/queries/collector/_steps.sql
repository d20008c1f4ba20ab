-- include window
    -- a row is a minute
    , intDiv(($__interval_s) + 59, 60) * 60 AS step_s
