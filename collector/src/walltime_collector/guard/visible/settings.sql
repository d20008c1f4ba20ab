-- LIMIT keeps conditions from outside behind ours: without it they meet rows that are not to be seen, in any order.
SELECT name, value, changed, description, readonly, type FROM system.settings WHERE name IN ('max_execution_time', 'readonly')
LIMIT 1000000
