-- Which kinds of transaction take the time, and on what?
-- Reads the sums of whole minutes, and the transactions themselves for the rest of the window (Scope.divided).
-- COLUMNS(…) APPLY sum takes the counters of every component with columns; the others are in the maps. Window functions
-- see all kinds, also those below LIMIT.
-- started_at is compared with a DateTime64: with a DateTime, the index of ClickHouse 26.9 leaves out the last second.
SELECT
    service,
    name,
    sum(each.transactions) AS transactions,
    sum(each.errors) AS errors,
    sum(each.status_4xx) AS status_4xx,
    sum(each.status_5xx) AS status_5xx,
    sum(duration_ns) AS total_ns,
    sum(other_ns) AS other_total_ns,
    quantilesTDigestMerge(0.5, 0.95, 0.99)(states) AS percentiles_ns,
    percentiles_ns[1] AS p50_ns, percentiles_ns[2] AS p95_ns, percentiles_ns[3] AS p99_ns,
    max(longest_ns) AS max_ns,
    if(sum(cpu_known) = 0, NULL, sum(cpu_ns) / sum(cpu_known)) AS cpu_mean_ns,
    if(sum(queue_known) = 0, NULL, sum(queue_ns) / sum(queue_known)) AS queue_mean_ns,
    if(sum(cpu_wait_known) = 0, NULL, sum(cpu_wait_ns) / sum(cpu_wait_known)) AS cpu_wait_mean_ns,
    if(sum(loop_wait_known) = 0, NULL, sum(loop_wait_ns) / sum(loop_wait_known)) AS loop_wait_mean_ns,
    COLUMNS('_(calls|time_ns|errors|hits|misses)$') EXCEPT (custom_calls, custom_time_ns, custom_errors) APPLY sum,
    sumMap(each.custom_calls) AS custom_calls,
    sumMap(each.custom_time_ns) AS custom_time_ns,
    sumMap(each.custom_errors) AS custom_errors,
    sumMap(each.more_counters) AS more_counters,
    count() OVER () AS all_kinds,
    sum(transactions) OVER () AS all_transactions,
    sum(errors) OVER () AS all_errors,
    sum(total_ns) OVER () AS all_total_ns,
    toUnixTimestamp64Nano((SELECT min(started_at) FROM transactions)) AS first_ns
FROM
(
    SELECT
        service, name, transactions, errors, duration_ns, other_ns, percentiles_ns AS states, max_ns AS longest_ns,
        cpu_ns, cpu_known, queue_ns, queue_known, cpu_wait_ns, cpu_wait_known, loop_wait_ns, loop_wait_known, status_4xx, status_5xx,
        COLUMNS('_(calls|time_ns|errors|hits|misses)$') EXCEPT (custom_calls, custom_time_ns, custom_errors),
        custom_calls, custom_time_ns, custom_errors, more_counters
    FROM transactions_1m
    WHERE
-- include _whole_minutes.sql
    UNION ALL -- beside whole minutes
    SELECT
        service, name, count(), countIf(transactions.is_error), sum(transactions.duration_ns), sum(transactions.other_ns),
        quantilesTDigestState(0.5, 0.95, 0.99)(transactions.duration_ns), max(transactions.duration_ns),
        ifNull(sum(transactions.cpu_user_ns + transactions.cpu_system_ns), 0), count(transactions.cpu_user_ns + transactions.cpu_system_ns),
        ifNull(sum(transactions.queue_ns), 0), count(transactions.queue_ns),
        ifNull(sum(transactions.cpu_wait_ns), 0), count(transactions.cpu_wait_ns),
        ifNull(sum(transactions.loop_wait_ns), 0), count(transactions.loop_wait_ns),
        countIf(intDiv(transactions.http_status, 100) = 4), countIf(intDiv(transactions.http_status, 100) = 5),
        COLUMNS('_(calls|time_ns|errors|hits|misses)$') EXCEPT (custom_calls, custom_time_ns, custom_errors) APPLY sum,
        sumMap(transactions.custom_calls), sumMap(transactions.custom_time_ns), sumMap(transactions.custom_errors), sumMap(transactions.more_counters)
    FROM {source:Identifier} AS transactions
    WHERE
-- include _beside_minutes.sql
    GROUP BY service, name
) AS each
GROUP BY service, name
ORDER BY
    CASE {by:String}
        WHEN 'total' THEN toFloat64(total_ns)
        WHEN 'mean' THEN total_ns / transactions
        WHEN 'p50' THEN toFloat64(p50_ns)
        WHEN 'p95' THEN toFloat64(p95_ns)
        WHEN 'p99' THEN toFloat64(p99_ns)
        WHEN 'max' THEN toFloat64(max_ns)
        WHEN 'errors' THEN toFloat64(errors)
        ELSE toFloat64(transactions)
    END DESC,
    service,
    name
LIMIT {limit:UInt32}
