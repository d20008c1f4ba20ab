-- include points
SELECT
    time,
    k.transactions / seconds AS transactions,
    nullIf(k.errors, 0) / k.transactions AS failed,
    if(k.transactions = 0, NULL, percentiles_ns[3]) AS p99,
    if(k.transactions = 0, NULL, percentiles_ns[2]) AS p95,
    if(k.transactions = 0, NULL, percentiles_ns[1]) AS p50,
    cpu_ns / nullIf(cpu_known, 0) AS cpu,
    cpu_wait_ns / nullIf(cpu_wait_known, 0) AS "cpu wait",
    queue_ns / nullIf(queue_known, 0) AS queue
FROM
-- include kind_points
AS k
ORDER BY time
