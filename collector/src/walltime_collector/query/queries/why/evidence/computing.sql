-- How much of `other` was computing, and waiting for a CPU or the event loop? Where in a transaction these times are is not known:
-- in `other` is at least what the measured calls had no time for, and at most all of `other`. Over transactions with a known CPU time.
WITH
    cpu_user_ns + cpu_system_ns AS one_cpu_ns,
-- include why/_compared.sql
SELECT
    if(is_slow, 'slow', 'usual') AS side,
    count(one_cpu_ns) / count() AS known,
    avgIf(other_ns, one_cpu_ns IS NOT NULL) AS outside_ns,
    avg(one_cpu_ns) AS cpu_ns,
    avg(least(toInt64(other_ns), greatest(0, toInt64(one_cpu_ns) - toInt64(covered_ns)))) AS cpu_least_ns,
    avg(least(other_ns, one_cpu_ns)) AS cpu_most_ns,
    count(transactions.cpu_wait_ns) / count() AS wait_known,
    avg(least(toInt64(other_ns), greatest(0, toInt64(ifNull(transactions.cpu_wait_ns, 0)) - toInt64(covered_ns)))) AS wait_least_ns,
    avg(least(other_ns, ifNull(transactions.cpu_wait_ns, 0))) AS wait_most_ns,
    avg(least(toInt64(other_ns), greatest(0, toInt64(ifNull(transactions.loop_wait_ns, 0)) - toInt64(covered_ns)))) AS loop_least_ns,
    avg(least(other_ns, ifNull(transactions.loop_wait_ns, 0))) AS loop_most_ns
FROM transactions
WHERE is_compared
GROUP BY is_slow
ORDER BY side
