SELECT tables.name AS table, tables.comment AS about, columns.name AS name, columns.type AS type, columns.comment AS comment
FROM system.tables AS tables
INNER JOIN system.columns AS columns ON columns.table = tables.name
WHERE tables.name NOT LIKE '%\_local' AND tables.engine != 'MaterializedView'
ORDER BY
    tables.comment = '',
    indexOf(['other_1m', 'statements_1d', 'statements_1m', 'targets_1m', 'transactions_1m', 'server_events', 'cache_status', 'mysql_status', 'lock_waits', 'slow_queries', 'spans', 'transactions'], table) DESC,
    table, columns.position
