-- What does the average transaction spend its time on, over time? The parts add up to the mean response time; where
-- calls overlap (threads, asyncio) they add up to more. The built-in components are read off the table's columns, so a
-- new one needs no change here; a component that is absent for a while is 0. An interval without transactions is NULL for
-- all of them, a gap.
WITH
    (
        SELECT arraySort(groupArray((position, replaceOne(replaceOne(name, '_time_ns', ''), '_', '.')))).2
        FROM system.columns
        WHERE database = currentDatabase() AND table = 'transactions' AND endsWith(name, '_time_ns') AND name != 'custom_time_ns'
    ) AS built_in
SELECT
    time,
    component,
    if(transactions = 0, NULL, ns[component] / transactions / 1e6) AS ms
FROM
(
    SELECT
        time,
        transactions,
        CAST(parts, 'Map(String, UInt64)') AS ns,
        groupUniqArrayArray(arrayFilter(name -> ns[name] > 0, mapKeys(ns))) OVER () AS components
    FROM
    (
        SELECT
            $__timeInterval(started_at) AS time,
            count() AS transactions,
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
