-- Which share of the keys asked for did each memcache server have, over time?
SELECT
    $__timeInterval(started_at) AS time,
    CAST(address, 'String') AS server,
    sum(hits) / (sum(hits) + sum(misses)) AS ratio
FROM transactions
ARRAY JOIN target.component AS component, target.address AS address, target.hits AS hits, target.misses AS misses
WHERE $__timeFilter(started_at)
    AND $__conditionalAll(service IN (${service:singlequote}), $service)
    AND $__conditionalAll(name IN (${kind:singlequote}), $kind)
    AND component = 'memcache.get'
    AND hits + misses > 0
GROUP BY time, server
ORDER BY time, server
