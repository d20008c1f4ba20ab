-- include servers/_of_steps.sql
    max(s.threads_connected) AS most_connected,
    sum(s.threads_running * part_ns) / over_ns AS threads_running,
    sum(s.queries * part) AS queries,
    sum(s.page_requests * part) AS page_requests,
    sum(s.page_misses * part) AS page_misses,
    sum(s.rows_read * part) AS rows_read,
    sum(s.rows_changed * part) AS rows_changed,
    sum(s.tmp_tables_on_disk * part) AS tmp_tables_on_disk,
    sum(s.row_lock_wait_ns * part) AS row_lock_wait_ns,
    max(s.history_list) AS history_list,
    max(s.replication_lag_s) * 1e9 AS replication_lag_ns
