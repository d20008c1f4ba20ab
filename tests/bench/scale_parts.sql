-- What each table takes on disk.
SELECT table, sum(rows) AS rows, sum(bytes_on_disk) AS disk, sum(secondary_indices_compressed_bytes) AS indexes
FROM system.parts
WHERE database = currentDatabase() AND active AND table != 'schema_migrations'
GROUP BY table
HAVING rows > 0
ORDER BY disk DESC
