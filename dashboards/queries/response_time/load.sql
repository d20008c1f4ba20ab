-- How many transactions are busy at once, and with what? Time spent in a component, divided by the time that passed.
-- An interval that sticks out of the time shown counts with the part inside.
WITH
    (
        SELECT arraySort(groupArray((position, replaceOne(replaceOne(name, '_time_ns', ''), '_', '.')))).2
        FROM system.columns
        WHERE database = currentDatabase() AND table = 'transactions' AND endsWith(name, '_time_ns') AND name != 'custom_time_ns'
    ) AS built_in
SELECT
    time,
    component,
    ns[component] / 1e9 / greatest(
        1,
        least(toUnixTimestamp(time) + ($__interval_s), toUnixTimestamp(($__toTime)))
        - greatest(toUnixTimestamp(time), toUnixTimestamp(($__fromTime)))
    ) AS busy
FROM
(
    SELECT
        time,
        CAST(parts, 'Map(String, UInt64)') AS ns,
        groupUniqArrayArray(arrayFilter(name -> ns[name] > 0, mapKeys(ns))) OVER () AS components
    FROM
    (
        SELECT
            $__timeInterval(started_at) AS time,
            arrayConcat(
                arrayZip(built_in, [COLUMNS('_time_ns$') EXCEPT (custom_time_ns) APPLY sum]),
                CAST(sumMap(custom_time_ns), 'Array(Tuple(String, UInt64))'),
                [('other', sum(other_ns))]) AS parts
        FROM transactions
        WHERE $__timeFilter(started_at)
            AND $__conditionalAll(service IN (${service:singlequote}), $service)
            AND $__conditionalAll(name IN (${kind:singlequote}), $kind)
        GROUP BY time
        ORDER BY time WITH FILL STEP ($__interval_s)
    )
)
ARRAY JOIN components AS component
ORDER BY time, transform(splitByChar('.', component)[1], ['mysql', 'memcache', 'http', 'python', 'view', 'middleware', 'other'], [1, 2, 3, 4, 7, 8, 9], 5), component
