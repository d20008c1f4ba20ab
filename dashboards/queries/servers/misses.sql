-- Misses per second by server
-- Each is work for the database.
SELECT
    time,
    repeat(char(226, 128, 139), indexOf(arraySort(servers), server)) AS place,
    server,
    misses[server] / greatest(
        1,
        least(toUnixTimestamp(time) + ($__interval_s), toUnixTimestamp(($__toTime)))
        - greatest(toUnixTimestamp(time), toUnixTimestamp(($__fromTime)))
    ) AS per_second
FROM
(
    SELECT
        time,
        misses,
        groupUniqArrayArray(mapKeys(misses)) OVER () AS servers
    FROM
    (
        SELECT
            $__timeInterval(started_at) AS time,
            sumMap(map(CAST(address, 'String'), toUInt64(missed))) AS misses
        FROM transactions
        ARRAY JOIN target.component AS component, target.address AS address, target.misses AS missed
        WHERE $__timeFilter(started_at)
            AND $__conditionalAll(service IN (${service:singlequote}), $service)
            AND $__conditionalAll(name IN (${kind:singlequote}), $kind)
            AND component = 'memcache.get'
        GROUP BY time
        ORDER BY time WITH FILL STEP ($__interval_s)
    )
)
ARRAY JOIN servers AS server
ORDER BY time, server
