-- Hit ratio by server
-- The share of the keys asked for that the server had. One alone falling to 0 was restarted or emptied.
SELECT
    time,
    repeat(char(226, 128, 139), indexOf(arraySort(servers), server)) AS place,
    server,
    if(asked[server] = 0, NULL, hits[server] / asked[server]) AS ratio
FROM
(
    SELECT
        time,
        hits,
        asked,
        groupUniqArrayArray(mapKeys(asked)) OVER () AS servers
    FROM
    (
        SELECT
            $__timeInterval(started_at) AS time,
            sumMap(map(CAST(address, 'String'), toUInt64(found))) AS hits,
            sumMap(map(CAST(address, 'String'), toUInt64(found + missed))) AS asked
        FROM transactions
        ARRAY JOIN target.component AS component, target.address AS address, target.hits AS found, target.misses AS missed
        WHERE $__timeFilter(started_at)
            AND $__conditionalAll(service IN (${service:singlequote}), $service)
            AND $__conditionalAll(name IN (${kind:singlequote}), $kind)
            AND component = 'memcache.get'
            AND found + missed > 0
        GROUP BY time
        ORDER BY time WITH FILL STEP ($__interval_s)
    )
)
ARRAY JOIN servers AS server
ORDER BY time, server
