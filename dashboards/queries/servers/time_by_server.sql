-- Time per call by server
-- One of several equal servers standing out is the one to look at. One step up is ten times as long.
SELECT
    time,
    repeat(char(226, 128, 139), indexOf(arraySort(all_servers), on_server)) AS place,
    on_server,
    if(calls[on_server] = 0, NULL, ns[on_server] / calls[on_server] / 1e6) AS ms
FROM
(
    SELECT
        time,
        ns,
        calls,
        groupUniqArrayArray(mapKeys(calls)) OVER () AS all_servers
    FROM
    (
        SELECT
            $__timeInterval(started_at) AS time,
            sumMap(map(component || ' ' || address, toUInt64(time_ns))) AS ns,
            sumMap(map(component || ' ' || address, toUInt64(called))) AS calls
        FROM transactions
        ARRAY JOIN
            target.component AS component, target.address AS address, target.calls AS called, target.time_ns AS time_ns
        WHERE $__timeFilter(started_at)
            AND $__conditionalAll(service IN (${service:singlequote}), $service)
            AND $__conditionalAll(name IN (${kind:singlequote}), $kind)
            AND called > 0
        GROUP BY time
        ORDER BY time WITH FILL STEP ($__interval_s)
    )
)
ARRAY JOIN all_servers AS on_server
ORDER BY time, on_server
