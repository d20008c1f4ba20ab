-- Rows and disk space of each table; in a cluster, on the node that runs this query.
SELECT
    table AS name,
    sum(rows) AS rows,
    count() AS parts,
    sum(data_compressed_bytes) AS compressed_bytes,
    sum(data_uncompressed_bytes) AS uncompressed_bytes,
    sum(bytes_on_disk) AS disk_bytes,
    if(min(partition) LIKE '____-__-__', min(partition), '') AS oldest,
    if(max(partition) LIKE '____-__-__', max(partition), '') AS newest
FROM system.parts
WHERE database = currentDatabase() AND active
GROUP BY table
ORDER BY disk_bytes DESC, table
