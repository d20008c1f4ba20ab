    WHERE started_at >= from_at AND started_at < to_at
        AND (started_at < toDateTime64(minutes_from_s, 9, 'UTC') OR started_at >= toDateTime64(minutes_to_s, 9, 'UTC'))
        -- include chosen
