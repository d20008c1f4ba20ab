SELECT name, value, changed, description, readonly, type FROM system.settings WHERE name IN ('max_execution_time', 'readonly')
