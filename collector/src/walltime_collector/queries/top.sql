-- Which kinds of transaction take the time, and on what?
-- COLUMNS(…) APPLY sum takes the counters of every built-in component, so a new component needs no change here;
-- components without columns, such as those the application named itself, come from the maps, their other counters from
-- the attributes. Window functions see all kinds, also those below LIMIT.
SELECT
    service,
    name,
    count() AS transactions,
    countIf(is_error) AS errors,
    sum(duration_ns) AS total_ns,
    sum(other_ns) AS other_total_ns,
    quantilesTDigest(0.5, 0.95, 0.99)(duration_ns) AS percentiles_ns,
    max(duration_ns) AS max_ns,
    avg(cpu_user_ns + cpu_system_ns) AS cpu_mean_ns,
    avg(queue_ns) AS queue_mean_ns,
    COLUMNS('_(calls|time_ns|errors|hits|misses)$') EXCEPT (custom_calls, custom_time_ns, custom_errors) APPLY sum,
    sumMap(custom_calls) AS custom_calls,
    sumMap(custom_time_ns) AS custom_time_ns,
    sumMap(custom_errors) AS custom_errors,
    sumMap(mapApply((key, value) -> (key, toUInt64OrZero(value)), mapFilter((key, value) -> match(key, '^walltime\\..+\\.(hits|misses|skipped)$'), attributes))) AS more_counters,
    count() OVER () AS all_kinds,
    sum(transactions) OVER () AS all_transactions,
    sum(errors) OVER () AS all_errors,
    sum(total_ns) OVER () AS all_total_ns,
    toUnixTimestamp64Nano((SELECT min(started_at) FROM transactions)) AS first_ns
FROM transactions
WHERE started_at >= fromUnixTimestamp64Nano({since_ns:Int64}, 'UTC')
    AND ({service:String} = '' OR service = {service:String})
GROUP BY service, name
ORDER BY
    CASE {by:String}
        WHEN 'total' THEN toFloat64(total_ns)
        WHEN 'mean' THEN total_ns / transactions
        WHEN 'p50' THEN toFloat64(percentiles_ns[1])
        WHEN 'p95' THEN toFloat64(percentiles_ns[2])
        WHEN 'p99' THEN toFloat64(percentiles_ns[3])
        WHEN 'max' THEN toFloat64(max_ns)
        WHEN 'errors' THEN toFloat64(errors)
        ELSE toFloat64(transactions)
    END DESC,
    service,
    name
LIMIT {limit:UInt32}
