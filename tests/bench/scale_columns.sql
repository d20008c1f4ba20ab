-- What each column takes on disk, in bytes per row of its table.
SELECT
    table,
    column,
    any(type) AS type,
    sum(column_data_compressed_bytes) / sum(rows) AS compressed,
    sum(column_data_uncompressed_bytes) / sum(rows) AS uncompressed
FROM system.parts_columns
WHERE database = currentDatabase() AND active AND table != 'schema_migrations'
GROUP BY table, column
ORDER BY table, compressed DESC
