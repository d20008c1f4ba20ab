-- include window
    , unhex(extract(lower(${trace_id:singlequote}), '[0-9a-f]{32}')) AS asked
    -- without a trace id: where the slowest is, by the sums of minutes, and then which one
    , (
        SELECT argMax((service, kind, time), max_ns)
        FROM
        -- include kinds
        WHERE empty(asked)
    ) AS slow
    , (
        SELECT argMax(trace_id, duration_ns)
        FROM kinds_each
        WHERE empty(asked) AND service = slow.1 AND kind = slow.2
            AND started_at >= greatest(from_at, toDateTime64(slow.3, 9, 'UTC')) AND started_at < least(to_at, toDateTime64(slow.3 + 60, 9, 'UTC'))
        -- include chosen
    ) AS slowest
    , if(length(asked) = 16, toFixedString(asked, 16), slowest) AS shown
