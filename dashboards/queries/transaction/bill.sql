-- The bill
-- Each nanosecond once; the parts of a transaction add up to what it took (to more where calls overlap).
WITH
    (
        SELECT arraySort(groupArray((position, replaceOne(replaceOne(name, '_time_ns', ''), '_', '.')))).2
        FROM system.columns
        WHERE database = currentDatabase() AND table = 'transactions' AND endsWith(name, '_time_ns') AND name != 'custom_time_ns'
    ) AS built_in,
    unhex(extract(lower(${trace_id:singlequote}), '[0-9a-f]{32}')) AS asked,
    (
        SELECT argMax(trace_id, duration_ns)
        FROM transactions
        WHERE empty(asked)
            AND $__timeFilter(started_at)
            AND $__conditionalAll(service IN (${service:singlequote}), $service)
            AND $__conditionalAll(name IN (${kind:singlequote}), $kind)
    ) AS slowest
SELECT
    service AS "service",
    name AS "kind",
    part.1 AS "component",
    part.2 AS "time",
    part.2 / nullIf(duration_ns, 0) AS "share",
    part.3 AS "calls",
    if(part.3 > 0, part.2 / part.3, NULL) AS "per call",
    if(part.3 > 0, part.4, NULL) AS "longest",
    part.5 AS "errors",
    if(part.1 = 'memcache.get', memcache_get_hits, NULL) AS "hits",
    if(part.1 = 'memcache.get', memcache_get_misses, NULL) AS "misses"
FROM
(
    SELECT
        *,
        other_ns,
        arrayConcat(
            arrayZip(
                built_in,
                [COLUMNS('_time_ns$') EXCEPT (custom_time_ns)],
                [COLUMNS('_calls$') EXCEPT (custom_calls)],
                [COLUMNS('_max_ns$') EXCEPT (custom_max_ns)],
                [COLUMNS('_errors$') EXCEPT (custom_errors)]),
            arrayMap(
                c -> (toString(c), custom_time_ns[c], custom_calls[c], custom_max_ns[c], custom_errors[c]),
                mapKeys(custom_time_ns)),
            [('other', other_ns, toUInt64(0), toUInt64(0), toUInt64(0))]) AS parts
    FROM transactions
    WHERE trace_id = if(length(asked) = 16, toFixedString(asked, 16), slowest)
    LIMIT 1 BY span_id
)
ARRAY JOIN parts AS part
WHERE part.2 > 0 OR part.3 > 0
ORDER BY started_at, span_id, part.2 DESC
LIMIT 2000
