(
    -- a call is a request; opening its connection is beside it
    SELECT
        * REPLACE (if(component = 'http.request', calls, 0) AS calls, if(component = 'http.request', errors, 0) AS errors),
        0 AS position
    FROM
    (
        SELECT *, if(component = 'http.connect', calls, 0) AS connects
        FROM
        -- include servers
    )
    WHERE family = 'http' AND $__conditionalAll(server IN (${server:singlequote}), $server)
)
