-- The kinds with most of their time of the last hour in no component (also inside of `view` and `middleware`), and how much of it may be computing.
-- Only kinds that take at least a tenth of their service's time.
SELECT service, name, transactions, time_ns, other_ns, cpu_ns
FROM
(
    SELECT
        service, name,
        sum(each.transactions) AS transactions,
        sum(each.duration_ns) AS time_ns,
        sum(each.other_ns + each.custom_time_ns['view'] + each.custom_time_ns['middleware']) AS other_ns,
        sum(each.cpu_ns) AS cpu_ns,
        sum(time_ns) OVER (PARTITION BY service) AS service_ns
    FROM transactions_1m AS each
    WHERE minute >= now() - INTERVAL 1 HOUR AND service != 'walltime.doctor'
    GROUP BY service, name
)
WHERE other_ns > 0.5 * time_ns AND time_ns >= 0.1 * service_ns
ORDER BY other_ns DESC
LIMIT 3 BY service
