SELECT formatQuery(create_table_query) AS statement FROM system.tables
WHERE database = {database:String} AND name = {name:String}
LIMIT 1
