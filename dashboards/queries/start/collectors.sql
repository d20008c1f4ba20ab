-- Collectors
-- Of the last whole minute that each wrote. `waiting` are transactions and spans on its disk, `lag` is how long the oldest has been there.
WITH
    recent AS (SELECT * FROM walltime_health WHERE minute >= now() - INTERVAL 1 DAY)
SELECT
    machine AS "host",
    if(is_well, 'All is well', concat('Not well: ', arrayStringConcat(what, ', '))) AS "health",
    toNullable(written) AS "received",
    toNullable(spooled_now) AS "waiting",
    nullIf(oldest_s, 0) * 1e9 AS "lag",
    nullIf(gone, 0) AS "errors",
    toNullable(last_minute) AS "last seen"
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
    FROM recent
    GROUP BY collector
)
UNION ALL
SELECT '', 'No state of a collector is stored of the last day.', NULL, NULL, NULL, NULL, NULL
WHERE (SELECT count() FROM recent) = 0
