-- The slowest transactions
-- A click on the trace id shows the transaction. The bar is its time by family.
-- include window
-- include slowest rows=100
SELECT
    started_at AS "started",
    service AS "service",
    kind AS "kind",
    duration_ns AS "took",
    -- include bar
    AS "time by family",
    nullIf(queries, 0) AS "queries",
    nullIf(cache_misses, 0) AS "misses",
    if(is_error, if(error_type = '', 'failed', error_type), '') AS "error",
    kept AS "calls kept",
    trace AS "trace"
FROM
(
    SELECT *, max(arraySum(parts)) OVER () AS widest
    FROM
    (
        SELECT
            started_at, service, kind, duration_ns, queries, cache_misses, is_error, error_type, kept, trace,
            [mysql_ns, memcache_ns, redis_ns, http_ns, python_ns, framework_ns, application_ns, view_ns, other_ns] AS parts
        FROM kinds_each
        WHERE started_at >= from_at AND started_at < to_at AND duration_ns >= slow_ns
        -- include chosen
        ORDER BY duration_ns DESC
        LIMIT 100
    )
)
ORDER BY "took" DESC
