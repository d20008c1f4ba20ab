(
    SELECT *, 0 AS position
    FROM
    -- include servers
    WHERE family = 'mysql' AND $__conditionalAll(server IN (${server:singlequote}), $server)
)
