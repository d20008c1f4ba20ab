-- LIMIT keeps conditions from outside behind ours: without it they meet rows that are not to be seen, in any order.
SELECT database, table, name, type, position, default_kind, default_expression, comment, is_in_primary_key, is_in_sorting_key, is_in_partition_key
FROM system.columns WHERE database = {database:String}
LIMIT 1000000
