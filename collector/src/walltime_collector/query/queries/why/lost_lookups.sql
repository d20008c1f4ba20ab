-- How many keys did each transaction look up and lose (a miss, or a call that failed or was skipped), and what else did it call? Of both
-- sides a sample by trace id, and those that were kept by chance, which are one as well.
WITH
    memcache_get_errors + more_counters['walltime.memcache.get.skipped'] AS failed,
    arraySum(arrayMap((component, hits) -> if(component IN ('redis.get', 'redis.mget', 'redis.hget', 'redis.hmget', 'redis.hgetall'), toUInt64(hits), 0), target.component, target.hits)) AS redis_hits,
    arraySum(arrayMap((component, misses, errors) -> if(component IN ('redis.get', 'redis.mget', 'redis.hget', 'redis.hmget', 'redis.hgetall'), toUInt64(misses) + errors, 0),
        target.component, target.misses, target.errors)) AS redis_lost,
-- include why/_compared.sql
SELECT
    is_slow,
    toUnixTimestamp64Nano(started_at) AS started_ns,
    lower(hex(trace_id)) AS trace,
    lower(hex(span_id)) AS span,
    kept = 'random' AS is_kept,
    memcache_get_misses + failed + redis_lost AS lost,
    lost + memcache_get_hits + redis_hits AS lookups,
    version, host, method, toString(http_status) AS status, user,
    mapFilter((key, text) -> NOT startsWith(key, 'walltime.'), attributes) AS annotations,
    COLUMNS('_calls$')
FROM transactions
WHERE is_compared AND (kept = 'random' OR cityHash64(trace_id, span_id) % if(is_slow, {slow_every:UInt64}, {usual_every:UInt64}) = 0)
ORDER BY cityHash64(trace_id, span_id)
LIMIT {limit:UInt32} BY is_slow
