-- How large are the two populations without single transactions, and what did they spend their time on?
-- COLUMNS(…) APPLY sum takes the counters of every component with columns, as in top.sql. How the CPU time divides between components
-- and `other` is not known: `other` has at least what the measured calls cannot have used, and at most all of it.
WITH
    cpu_user_ns + cpu_system_ns AS cpu_ns,
-- include why/_compared.sql
SELECT
    is_slow,
    count() AS transactions,
    sum(duration_ns) AS total_ns,
    sum(other_ns) AS other_total_ns,
    avg(cpu_ns) AS cpu_mean_ns,
    avg(least(toInt64(other_ns), greatest(0, toInt64(cpu_ns) - toInt64(covered_ns)))) AS other_on_cpu_least_ns,
    avg(least(other_ns, cpu_ns)) AS other_on_cpu_most_ns,
    avg(queue_ns) AS queue_mean_ns,
    avg(transactions.cpu_wait_ns) AS cpu_wait_ns,
    avg(transactions.cpu_throttled_ns) AS cpu_throttled_ns,
    avg(transactions.loop_run_ns) AS loop_run_ns,
    avg(transactions.loop_wait_ns) AS loop_wait_ns,
    COLUMNS('_(calls|time_ns|errors|hits|misses)$') EXCEPT (custom_calls, custom_time_ns, custom_errors) APPLY sum,
    sumMap(custom_calls) AS custom_calls,
    sumMap(custom_time_ns) AS custom_time_ns,
    sumMap(custom_errors) AS custom_errors,
    sumMap(transactions.more_counters) AS more_counters
FROM transactions
WHERE is_compared
GROUP BY is_slow
ORDER BY is_slow
