-- LIMIT keeps conditions from outside behind ours: without it they meet rows that are not to be seen, in any order.
SELECT database, table, name, type, type_full, expr, granularity,
    data_compressed_bytes, data_uncompressed_bytes, marks_bytes
FROM system.data_skipping_indices WHERE database = {database:String}
LIMIT 1000000
