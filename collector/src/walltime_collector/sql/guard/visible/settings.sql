-- LIMIT keeps conditions from outside behind ours: without it they meet rows that are not to be seen, in any order.
-- All are read-only to the engine; a client sends a setting only if this says that it may.
SELECT name, value, changed, description, toUInt8(name = 'readonly') AS readonly, type
FROM system.settings WHERE match(name, {settings:String})
LIMIT 1000000
