-- LIMIT keeps conditions from outside behind ours: without it they meet rows that are not to be seen, in any order.
SELECT name, name AS database, engine, comment, is_external FROM system.databases WHERE name = {database:String}
LIMIT 1000000
