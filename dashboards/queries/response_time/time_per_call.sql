-- How long does one call of each component take, over time? An interval without calls is NULL, a gap.
WITH
    (
        SELECT arraySort(groupArray((position, replaceOne(replaceOne(name, '_time_ns', ''), '_', '.')))).2
        FROM system.columns
        WHERE database = currentDatabase() AND table = 'transactions' AND endsWith(name, '_time_ns') AND name != 'custom_time_ns'
    ) AS built_in
SELECT
    time,
    component,
    if(calls[component] = 0, NULL, ns[component] / calls[component] / 1e6) AS ms
FROM
(
    SELECT
        time,
        CAST(time_parts, 'Map(String, UInt64)') AS ns,
        CAST(call_parts, 'Map(String, UInt64)') AS calls,
        groupUniqArrayArray(arrayFilter(name -> calls[name] > 0, mapKeys(calls))) OVER () AS components
    FROM
    (
        SELECT
            $__timeInterval(started_at) AS time,
            arrayConcat(
                arrayZip(built_in, [COLUMNS('_time_ns$') EXCEPT (custom_time_ns) APPLY sum]),
                CAST(sumMap(custom_time_ns), 'Array(Tuple(String, UInt64))')) AS time_parts,
            arrayConcat(
                arrayZip(built_in, [COLUMNS('_calls$') EXCEPT (custom_calls) APPLY sum]),
                CAST(sumMap(custom_calls), 'Array(Tuple(String, UInt64))')) AS call_parts
        FROM transactions
        WHERE $__timeFilter(started_at)
            AND $__conditionalAll(service IN (${service:singlequote}), $service)
            AND $__conditionalAll(name IN (${kind:singlequote}), $kind)
        GROUP BY time
        ORDER BY time WITH FILL STEP ($__interval_s)
    )
)
ARRAY JOIN components AS component
ORDER BY time, component
