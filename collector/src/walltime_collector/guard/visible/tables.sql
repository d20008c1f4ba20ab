SELECT database, name, engine, comment, primary_key, sorting_key, partition_key, total_rows, total_bytes
FROM system.tables WHERE database = {database:String}
