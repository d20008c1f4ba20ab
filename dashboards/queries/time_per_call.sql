-- How long does one call of each component take, over time? Where nobody called there is no point.
WITH
    (
        SELECT arraySort(groupArray((position, replaceOne(replaceOne(name, '_time_ns', ''), '_', '.')))).2
        FROM system.columns
        WHERE database = currentDatabase() AND table = 'transactions' AND endsWith(name, '_time_ns') AND name != 'custom_time_ns'
    ) AS built_in
SELECT
    time,
    part.1 AS component,
    part.2 / part.3 / 1e6 AS ms
FROM
(
    SELECT
        $__timeInterval(started_at) AS time,
        sumMap(custom_time_ns) AS own_time_ns,
        sumMap(custom_calls) AS own_calls,
        arrayConcat(
            arrayZip(
                built_in,
                [COLUMNS('_time_ns$') EXCEPT (custom_time_ns) APPLY sum],
                [COLUMNS('_calls$') EXCEPT (custom_calls) APPLY sum]),
            arrayMap(c -> (toString(c), own_time_ns[c], own_calls[c]), mapKeys(own_time_ns))) AS parts
    FROM transactions
    WHERE $__timeFilter(started_at)
        AND $__conditionalAll(service IN (${service:singlequote}), $service)
        AND $__conditionalAll(name IN (${kind:singlequote}), $kind)
    GROUP BY time
)
ARRAY JOIN parts AS part
WHERE part.3 > 0
ORDER BY time, component
