    (
        SELECT
            service,
            sum(transactions) AS number,
            uniqExact(kind) AS kinds,
            argMax(version, time) AS last_version,
            sum(errors) AS failures,
            quantilesTDigestMerge(0.5, 0.95, 0.99)(percentiles_ns)[2] AS p95_ns,
            [sum(mysql_ns), sum(memcache_ns), sum(redis_ns), sum(http_ns), sum(python_ns), sum(framework_ns), sum(application_ns), sum(view_ns), sum(other_ns)] AS parts,
            max(arraySum(parts)) OVER () AS widest
        FROM
        -- include kinds
        GROUP BY service
    )
