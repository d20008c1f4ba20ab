(
    SELECT *, 0 AS position
    FROM
    -- include servers
    WHERE family IN ('memcache', 'redis') AND $__conditionalAll(server IN (${server:singlequote}), $server)
)
