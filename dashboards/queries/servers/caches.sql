-- memcache
-- All memcache servers together, over the time shown.
SELECT
    sum(memcache_get_hits) / nullIf(sum(memcache_get_hits) + sum(memcache_get_misses), 0) AS "hit ratio",
    if(count() = 0, NULL, sum(memcache_get_calls) / count()) AS "gets per transaction",
    if(count() = 0, NULL, sum(memcache_get_misses) / count()) AS "misses per transaction",
    if(sum(memcache_get_calls) = 0, NULL, sum(memcache_get_time_ns) / sum(memcache_get_calls)) AS "per get",
    arraySum([COLUMNS('^memcache_.+_errors$') APPLY sum]) AS "errors"
FROM transactions
WHERE $__timeFilter(started_at)
    AND $__conditionalAll(service IN (${service:singlequote}), $service)
    AND $__conditionalAll(name IN (${kind:singlequote}), $kind)
