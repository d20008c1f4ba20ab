-- How long does one call of each component take, over time? Where nobody called there is no point.
SELECT
    time,
    replaceOne(component, '_', '.') AS component,
    counters[component || '_time_ns'] / counters[component || '_calls'] / 1e6 AS ms
FROM
(
    SELECT
        time,
        CAST(
            arrayConcat(
                arrayMap(c -> (extract(c.1, '[(](.+)[)]'), c.2), JSONExtractKeysAndValues(built_in, 'UInt64')),
                arrayMap(c -> (c.1 || '_calls', c.2), CAST(own_calls, 'Array(Tuple(String, UInt64))')),
                arrayMap(c -> (c.1 || '_time_ns', c.2), CAST(own_time_ns, 'Array(Tuple(String, UInt64))'))),
            'Map(String, UInt64)') AS counters,
        arrayFilter(name -> counters[name || '_calls'] > 0, arrayMap(key -> extract(key, '(.+)_calls'), arrayFilter(key -> endsWith(key, '_calls'), mapKeys(counters)))) AS components
    FROM
    (
        SELECT
            $__timeInterval(started_at) AS time,
            formatRow('JSONEachRow', COLUMNS('_(calls|time_ns)$') EXCEPT (custom_calls, custom_time_ns) APPLY sum) AS built_in,
            sumMap(custom_calls) AS own_calls,
            sumMap(custom_time_ns) AS own_time_ns
        FROM transactions
        WHERE $__timeFilter(started_at)
            AND $__conditionalAll(service IN (${service:singlequote}), $service)
            AND $__conditionalAll(name IN (${kind:singlequote}), $kind)
        GROUP BY time
    )
)
ARRAY JOIN components AS component
ORDER BY time, component
