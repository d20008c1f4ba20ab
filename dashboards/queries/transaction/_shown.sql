-- include window
    , unhex(extract(lower(${trace_id:singlequote}), '[0-9a-f]{32}')) AS asked
    , (
        SELECT argMax(trace_id, duration_ns)
        FROM kinds_each
        WHERE empty(asked) AND started_at >= from_at AND started_at < to_at
        -- include chosen
    ) AS slowest
    , if(length(asked) = 16, toFixedString(asked, 16), slowest) AS shown
