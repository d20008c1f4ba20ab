-- Which statements take the time, as the server's slow log tells it? A log that keeps one of n statements counts each n
-- times. A statement's comment says the route it came from: the kind without GET or POST.
SELECT
    any(fingerprint) AS "statement",
    sum(query_ns * weight) / 1e6 AS "time",
    sum(query_ns * weight) / sum(sum(query_ns * weight)) OVER () AS "share",
    sum(weight) AS "calls made",
    sum(query_ns * weight) / sum(weight) / 1e6 AS "per call",
    quantileTDigest(0.95)(query_ns) / 1e6 AS "p95",
    max(query_ns) / 1e6 AS "longest",
    sum(lock_ns * weight) / sum(weight) / 1e6 AS "lock wait",
    sum(rows_examined * weight) / sum(weight) AS "rows examined",
    sum(rows_sent * weight) / sum(weight) AS "rows sent",
    sumIf(weight, is_full_scan) / sum(weight) AS "full scans",
    arrayStringConcat(arraySort(groupUniqArrayIf(10)(toString(route), route != '')), ', ') AS "routes",
    if(countIf(trace_id != toFixedString('', 16)) = 0, '',
        lower(hex(argMaxIf(trace_id, query_ns, trace_id != toFixedString('', 16))))) AS "example"
FROM slow_queries
WHERE $__timeFilter(started_at)
    AND $__conditionalAll(service IN (${service:singlequote}), $service)
    AND $__conditionalAll(has(arrayMap(kind -> replaceRegexpOne(kind, '^[A-Z]+ ', ''), [${kind:singlequote}]), route), $kind)
GROUP BY fingerprint_id
ORDER BY "time" DESC
LIMIT 100
