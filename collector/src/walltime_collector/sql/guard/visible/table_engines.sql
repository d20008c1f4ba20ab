-- LIMIT keeps conditions from outside behind ours: without it they meet rows that are not to be seen, in any order.
SELECT name FROM system.table_engines
LIMIT 1000000
