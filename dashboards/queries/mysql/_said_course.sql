-- include points
SELECT
    s.time AS time, s.place AS place, s.label AS server,
    s.queries / nullIf(s.over_ns, 0) * 1e9 AS queries,
    s.rows_read / nullIf(s.over_ns, 0) * 1e9 AS "rows read",
    s.page_misses / nullIf(s.page_requests, 0) AS "from disk",
    s.row_lock_wait_ns / nullIf(s.over_ns, 0) * 1e9 AS "row locks",
    if(s.over_ns > 0, s.most_connected / nullIf(s.max_connections, 0), NULL) AS used,
    s.threads_running AS running,
    s.tmp_tables_on_disk / nullIf(s.over_ns, 0) * 1e9 AS "temporary tables",
    s.history_list AS "old versions",
    s.replication_lag_ns AS lag
FROM
-- include said_points
AS s
ORDER BY time, place
