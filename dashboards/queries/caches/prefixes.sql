-- Key prefixes
-- What the time in caches is for: `product:` of `product:123`. An estimate from the calls of transactions that were kept by chance, each for as many as it stands for.
-- include window
-- include sampled of=memcache|redis
SELECT
    if(prefix = '', '(no prefix)', prefix) AS "prefix",
    component AS "component",
    sum(duration_ns * stands_for) / nullIf(sum(sum(duration_ns * stands_for)) OVER (), 0) AS "share",
    sum(stands_for) / (to_s - from_s) AS "per second",
    sum(duration_ns * stands_for) / sum(stands_for) AS "per call",
    sum(found * stands_for) / nullIf(sum(asked * stands_for), 0) AS "hit ratio"
FROM
(
    SELECT
        k.component AS component, k.duration_ns AS duration_ns, k.stands_for AS stands_for,
        if(mapContains(k.attributes, 'walltime.memcache.key'), k.attributes['walltime.memcache.key'], k.attributes['walltime.redis.key']) AS key,
        if(mapContains(k.attributes, 'walltime.memcache.result'), k.attributes['walltime.memcache.result'], k.attributes['walltime.redis.result']) AS result,
        -- `3/5` of a call with five keys
        multiIf(result = 'hit', 1, result LIKE '%/%', toUInt32OrZero(splitByChar('/', result)[1]), 0) AS found,
        multiIf(result IN ('hit', 'miss'), 1, result LIKE '%/%', toUInt32OrZero(splitByChar('/', result)[2]), 0) AS asked,
        -- include key_prefix
        AS prefix
    FROM
    -- include kept of=memcache|redis
    AS k
    WHERE key != '' AND $__conditionalAll(k.server IN (${server:singlequote}), $server)
)
GROUP BY prefix, component
ORDER BY "share" DESC
LIMIT 100
