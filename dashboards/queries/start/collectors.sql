-- Collectors
-- Of the last whole minute that each wrote. `waiting` are transactions and spans on its disk, `lag` is how long the oldest has been there.
SELECT
    machine AS "host",
    if(is_well, 'All is well', concat('Not well: ', arrayStringConcat(what, ', '))) AS "health",
    written AS "received",
    spooled_now AS "waiting",
    nullIf(oldest_s, 0) * 1e9 AS "lag",
    nullIf(gone, 0) AS "errors",
    last_minute AS "last seen"
FROM
(
    SELECT
        any(host) AS machine,
        max(minute) AS last_minute,
        argMax(is_ok, minute) AS is_well,
        argMax(troubles, minute) AS what,
        argMax(received, minute) AS written,
        argMax(spooled, minute) AS spooled_now,
        argMax(spool_oldest_s, minute) AS oldest_s,
        argMax(dead + lost, minute) AS gone
    FROM walltime_health
    WHERE minute >= now() - INTERVAL 1 DAY
    GROUP BY collector
)
ORDER BY machine
