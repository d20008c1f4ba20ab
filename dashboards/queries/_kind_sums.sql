(
    SELECT
        -- include sums
        , -- since the first one: the rate of a service that was started in between is not diluted
        greatest(1, to_s - greatest(from_s, toUnixTimestamp(min(k.time)))) AS seconds
    FROM
    -- include kinds
    AS k
)
