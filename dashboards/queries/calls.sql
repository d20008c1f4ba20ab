-- How often does the average transaction call each component, over time? Five times the usual number is a story of its own.
SELECT
    time,
    component,
    calls[component] / transactions AS calls
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
                arrayMap(
                    c -> (replaceOne(extract(c.1, '[(](.+)_calls'), '_', '.'), c.2),
                    JSONExtractKeysAndValues(formatRow('JSONEachRow', COLUMNS('_calls$') EXCEPT (custom_calls) APPLY sum), 'UInt64')),
                CAST(sumMap(custom_calls), 'Array(Tuple(String, UInt64))')) AS parts
        FROM transactions
        WHERE $__timeFilter(started_at)
            AND $__conditionalAll(service IN (${service:singlequote}), $service)
            AND $__conditionalAll(name IN (${kind:singlequote}), $kind)
        GROUP BY time
    )
)
ARRAY JOIN components AS component
ORDER BY time, component
