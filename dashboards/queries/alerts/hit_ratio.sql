-- A cache server hits less than usual
-- By how much the hit ratio of the last 10 minutes is below that of the day before; servers with at least 500 keys asked for.
SELECT server, before - now_is AS lost
FROM
(
    SELECT
        server,
        sumIf(s.hits, is_now) / nullIf(sumIf(s.hits + s.misses, is_now), 0) AS now_is,
        sumIf(s.hits, NOT is_now) / nullIf(sumIf(s.hits + s.misses, NOT is_now), 0) AS before,
        sumIf(s.hits + s.misses, is_now) AS asked
    FROM (SELECT *, minute >= now() - INTERVAL 10 MINUTE AS is_now FROM servers_by_minute) AS s
    WHERE minute >= now() - INTERVAL 1 DAY AND s.hits + s.misses > 0
    GROUP BY server
)
WHERE asked >= 500 AND isNotNull(before)
ORDER BY lost DESC
