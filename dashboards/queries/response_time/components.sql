-- What does the average transaction's bill say: time and calls of each component, side by side?
WITH
    (
        SELECT arraySort(groupArray((position, replaceOne(replaceOne(name, '_time_ns', ''), '_', '.')))).2
        FROM system.columns
        WHERE database = currentDatabase() AND table = 'transactions' AND endsWith(name, '_time_ns') AND name != 'custom_time_ns'
    ) AS built_in
SELECT
    part.1 AS component,
    part.2 / transactions AS "per transaction",
    part.2 / nullIf(total_ns, 0) AS "share",
    part.3 / transactions AS "calls",
    if(part.3 > 0, part.2 / part.3, NULL) AS "per call",
    if(part.3 > 0, part.4, NULL) AS "longest",
    part.5 AS "errors"
FROM
(
    SELECT
        count() AS transactions,
        sum(duration_ns) AS total_ns,
        sumMap(custom_time_ns) AS own_time_ns,
        sumMap(custom_calls) AS own_calls,
        maxMap(custom_max_ns) AS own_max_ns,
        sumMap(custom_errors) AS own_errors,
        arrayConcat(
            arrayZip(
                built_in,
                [COLUMNS('_time_ns$') EXCEPT (custom_time_ns) APPLY sum],
                [COLUMNS('_calls$') EXCEPT (custom_calls) APPLY sum],
                [COLUMNS('_max_ns$') EXCEPT (custom_max_ns) APPLY max],
                [COLUMNS('_errors$') EXCEPT (custom_errors) APPLY sum]),
            arrayMap(
                c -> (toString(c), own_time_ns[c], own_calls[c], own_max_ns[c], own_errors[c]),
                mapKeys(own_time_ns)),
            [('other', sum(other_ns), toUInt64(0), toUInt64(0), toUInt64(0))]) AS parts
    FROM transactions
    WHERE $__timeFilter(started_at)
        AND $__conditionalAll(service IN (${service:singlequote}), $service)
        AND $__conditionalAll(name IN (${kind:singlequote}), $kind)
)
ARRAY JOIN parts AS part
WHERE part.2 > 0 OR part.3 > 0
ORDER BY part.2 DESC
