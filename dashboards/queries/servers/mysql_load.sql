-- Average active statements by kind
-- The time transactions wait for MySQL, divided by the time that passed: how many statements it works on at once, and for whom. The twelve kinds with most of it, and the rest together. The table beside it has the links.
WITH
    kinds_with_most AS
    (
        SELECT name
        FROM transactions
        WHERE $__timeFilter(started_at)
            AND $__conditionalAll(service IN (${service:singlequote}), $service)
            AND $__conditionalAll(name IN (${kind:singlequote}), $kind)
        GROUP BY name
        ORDER BY arraySum([COLUMNS('^mysql_.+_time_ns$') APPLY sum]) DESC
        LIMIT 12
    )
SELECT
    time,
    repeat(char(226, 128, 139), indexOf(arraySort(kinds), kind)) AS place,
    kind,
    ns[kind] / 1e9 / greatest(
        1,
        least(toUnixTimestamp(time) + ($__interval_s), toUnixTimestamp(($__toTime)))
        - greatest(toUnixTimestamp(time), toUnixTimestamp(($__fromTime)))
    ) AS active
FROM
(
    SELECT
        time,
        ns,
        groupUniqArrayArray(arrayFilter(name -> ns[name] > 0, mapKeys(ns))) OVER () AS kinds
    FROM
    (
        SELECT
            $__timeInterval(started_at) AS time,
            sumMap(map(if(name IN (SELECT name FROM kinds_with_most), toString(name), '(all others)'), arraySum([COLUMNS('^mysql_.+_time_ns$')]))) AS ns
        FROM transactions
        WHERE $__timeFilter(started_at)
            AND $__conditionalAll(service IN (${service:singlequote}), $service)
            AND $__conditionalAll(name IN (${kind:singlequote}), $kind)
        GROUP BY time
        ORDER BY time WITH FILL STEP ($__interval_s)
    )
)
ARRAY JOIN kinds AS kind
ORDER BY time, kind
