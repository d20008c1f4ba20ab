-- LIMIT keeps conditions from outside behind ours: without it they meet rows that are not to be seen, in any order.
SELECT database, table, name, name AS column, type, position, default_kind, default_expression,
    data_compressed_bytes, data_uncompressed_bytes, marks_bytes, comment,
    is_in_partition_key, is_in_sorting_key, is_in_primary_key, is_in_sampling_key, compression_codec,
    character_octet_length, numeric_precision, numeric_precision_radix, numeric_scale, datetime_precision
FROM system.columns WHERE database = {database:String}
LIMIT 1000000
