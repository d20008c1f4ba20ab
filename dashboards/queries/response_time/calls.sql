-- How often does the average transaction call each component, over time? Five times the usual number is a story of its own.
-- An interval without transactions is NULL, a gap.
WITH
    (
        SELECT arraySort(groupArray((position, replaceOne(replaceOne(name, '_time_ns', ''), '_', '.')))).2
        FROM system.columns
        WHERE database = currentDatabase() AND table = 'transactions' AND endsWith(name, '_time_ns') AND name != 'custom_time_ns'
    ) AS built_in
SELECT
    time,
    component,
    if(transactions = 0, NULL, calls[component] / transactions) AS calls
FROM
(
    SELECT
        time,
        transactions,
        CAST(parts, 'Map(String, UInt64)') AS calls,
        groupUniqArrayArray(arrayFilter(name -> calls[name] > 0, mapKeys(calls))) OVER () AS components
    FROM
    (
        SELECT
            $__timeInterval(started_at) AS time,
            count() AS transactions,
            arrayConcat(
                arrayZip(built_in, [COLUMNS('_calls$') EXCEPT (custom_calls) APPLY sum]),
                CAST(sumMap(custom_calls), 'Array(Tuple(String, UInt64))')) AS parts
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
