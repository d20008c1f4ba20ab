(
    -- without one: a row with an empty id
    SELECT *
    FROM (SELECT 1 AS always) AS a
    LEFT JOIN
        -- include incidents
        AS i ON 1
)
