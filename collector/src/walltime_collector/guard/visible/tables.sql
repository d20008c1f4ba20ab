-- LIMIT keeps conditions from outside behind ours: without it they meet rows that are not to be seen, in any order.
SELECT database, name, engine, comment, primary_key, sorting_key, partition_key, total_rows, total_bytes
FROM system.tables WHERE database = {database:String}
LIMIT 1000000
