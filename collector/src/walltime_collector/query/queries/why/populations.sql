-- How large are the two populations without single transactions, and what did they spend their time on?
-- COLUMNS(…) APPLY sum takes the counters of every component with columns, as in top.sql. How the CPU time divides between components
-- and `other` is not known: `other` has at least what the measured calls cannot have used, and at most all of it.
WITH
    cpu_user_ns + cpu_system_ns AS cpu_ns,
-- include why/_compared.sql
    ,
-- include why/_weight.sql
SELECT
    is_slow,
    sum(weight) AS number, -- not `transactions`: conditions name the columns of that table
    toUInt64(round(sum(duration_ns * weight))) AS total_ns,
    toUInt64(round(sum(other_ns * weight))) AS other_total_ns,
    avgWeighted(cpu_ns, weight) AS cpu_mean_ns,
    avgWeighted(least(toInt64(other_ns), greatest(0, toInt64(cpu_ns) - toInt64(covered_ns))), weight) AS other_on_cpu_least_ns,
    avgWeighted(least(other_ns, cpu_ns), weight) AS other_on_cpu_most_ns,
    avgWeighted(queue_ns, weight) AS queue_mean_ns,
    avgWeighted(transactions.cpu_wait_ns, weight) AS cpu_wait_ns,
    avgWeighted(transactions.cpu_throttled_ns, weight) AS cpu_throttled_ns,
    avgWeighted(transactions.loop_run_ns, weight) AS loop_run_ns,
    avgWeighted(transactions.loop_wait_ns, weight) AS loop_wait_ns,
    COLUMNS('_(calls|time_ns|errors|hits|misses)$') EXCEPT (custom_calls, custom_time_ns, custom_errors) APPLY(counter -> toUInt64(round(sum(counter * weight)))),
    mapApply((name, whole) -> (name, toUInt64(round(whole))), sumMap(mapApply((name, counter) -> (name, counter * weight), custom_calls))) AS custom_calls,
    mapApply((name, whole) -> (name, toUInt64(round(whole))), sumMap(mapApply((name, counter) -> (name, counter * weight), custom_time_ns))) AS custom_time_ns,
    mapApply((name, whole) -> (name, toUInt64(round(whole))), sumMap(mapApply((name, counter) -> (name, counter * weight), custom_errors))) AS custom_errors,
    mapApply((name, whole) -> (name, toUInt64(round(whole))), sumMap(mapApply((name, counter) -> (name, counter * weight), transactions.more_counters))) AS more_counters
FROM transactions
WHERE is_compared
GROUP BY is_slow
ORDER BY is_slow
