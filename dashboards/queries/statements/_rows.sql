(
    SELECT *, 'mysql' AS family, 0 AS position, 0 AS hits, 0 AS misses
    FROM
    -- include statements
    WHERE $__conditionalAll(statement IN (${statement:singlequote}), $statement)
)
