-- LIMIT keeps conditions from outside behind ours: without it they meet rows that are not to be seen, in any order.
-- Paths are not shown; drivers ask only whether there are any.
SELECT database, name, name AS table, engine, is_temporary, [''] AS data_paths, metadata_modification_time,
    engine_full, comment, primary_key, sorting_key, partition_key, sampling_key, total_rows, total_bytes, parts, active_parts
FROM system.tables WHERE database = {database:String}
LIMIT 1000000
