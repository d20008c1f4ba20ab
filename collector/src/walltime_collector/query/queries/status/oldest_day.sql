-- The rows and bytes of the oldest day before today; the tables of minutes are small, and are kept.
-- A row of the sample is a copy: it is not lost once more.
SELECT table, partition AS day, sum(system.parts.rows) AS rows, if(table = 'sampled_transactions', 0, rows) AS lost_rows, sum(bytes_on_disk) AS disk_bytes
FROM system.parts
WHERE database = currentDatabase() AND active AND table IN ('spans', 'transactions', 'sampled_transactions', 'slow_queries')
    AND day < toString(toDate(now('UTC')))
GROUP BY table, day
QUALIFY day = min(day) OVER ()
ORDER BY table
