-- The slowest
-- A click on the trace id shows the transaction; the bar is its time by family.
-- include window
-- include slowest rows=50
SELECT
    trace AS "trace",
    duration_ns AS "took",
    -- include bar
    AS "time by family",
    started_at AS "started"
FROM
(
    SELECT *, max(arraySum(parts)) OVER () AS widest
    FROM
    (
        SELECT
            started_at, duration_ns, trace,
            [mysql_ns, memcache_ns, redis_ns, http_ns, python_ns, framework_ns, application_ns, view_ns, other_ns] AS parts
        FROM kinds_each
        WHERE started_at >= from_at AND started_at < to_at AND duration_ns >= slow_ns
        -- include chosen
        ORDER BY duration_ns DESC
        LIMIT 50
    )
)
ORDER BY "took" DESC
