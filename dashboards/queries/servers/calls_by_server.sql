-- Calls per second by server
-- Equal servers should get about equally many.
SELECT
    time,
    repeat(char(226, 128, 139), indexOf(arraySort(all_servers), on_server)) AS place,
    on_server,
    calls[on_server] / greatest(
        1,
        least(toUnixTimestamp(time) + ($__interval_s), toUnixTimestamp(($__toTime)))
        - greatest(toUnixTimestamp(time), toUnixTimestamp(($__fromTime)))
    ) AS per_second
FROM
(
    SELECT
        time,
        calls,
        groupUniqArrayArray(mapKeys(calls)) OVER () AS all_servers
    FROM
    (
        SELECT
            $__timeInterval(started_at) AS time,
            sumMap(map(component || ' ' || address, toUInt64(called))) AS calls
        FROM transactions
        ARRAY JOIN target.component AS component, target.address AS address, target.calls AS called
        WHERE $__timeFilter(started_at)
            AND $__conditionalAll(service IN (${service:singlequote}), $service)
            AND $__conditionalAll(name IN (${kind:singlequote}), $kind)
        GROUP BY time
        ORDER BY time WITH FILL STEP ($__interval_s)
    )
)
ARRAY JOIN all_servers AS on_server
ORDER BY time, on_server
