-- The kinds with most of their time of the last hour on no line: in no component but the containers `view` and
-- `middleware`, and on no line that was sampled. How much of it may be computing?
-- Only kinds that take at least a tenth of their service's time, and of which this is long enough to look into.
SELECT service, name, transactions, time_ns, all_ns - least(all_ns, sampled_ns) AS other_ns, cpu_ns
FROM
(
    SELECT
        service, name,
        sum(each.transactions) AS transactions,
        sum(each.duration_ns) AS time_ns,
        sum(each.uncovered_ns) AS all_ns,
        sum(each.cpu_ns) AS cpu_ns,
        sum(each.sampled_ns) AS sampled_ns,
        sum(time_ns) OVER (PARTITION BY service) AS service_ns
    FROM
    (
-- include _uncovered_minutes.sql
    ) AS each
    WHERE minute >= now() - INTERVAL 1 HOUR AND service != 'walltime.doctor'
    GROUP BY service, name
)
WHERE other_ns > 0.5 * time_ns AND other_ns >= transactions * {least_ns:UInt64} AND time_ns >= 0.1 * service_ns
ORDER BY other_ns DESC
LIMIT 3 BY service
