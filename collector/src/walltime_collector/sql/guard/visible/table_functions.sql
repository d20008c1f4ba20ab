-- LIMIT keeps conditions from outside behind ours: without it they meet rows that are not to be seen, in any order.
SELECT name, description FROM system.table_functions
LIMIT 1000000
