-- Response time
-- Of all transactions of each point: 50, 95 and 99 of 100 take at most so long. The longest one is the number above.
-- include points
SELECT
    time,
    if(transactions = 0, NULL, percentiles_ns[3]) AS p99,
    if(transactions = 0, NULL, percentiles_ns[2]) AS p95,
    if(transactions = 0, NULL, percentiles_ns[1]) AS p50
FROM
-- include kind_points
ORDER BY time
