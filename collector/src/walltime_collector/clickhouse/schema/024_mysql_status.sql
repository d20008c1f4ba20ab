-- A row is a second of a MySQL or MariaDB server. Counters are what was added since the row before, in `over_ns`.
CREATE TABLE IF NOT EXISTS mysql_status{local}{on_cluster}
(
    at DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    server LowCardinality(String),
    version LowCardinality(String),
    over_ns UInt64,
    uptime_s UInt64 CODEC(Delta, ZSTD(1)),
    threads_running UInt32,
    threads_connected UInt32,
    max_connections UInt32,
    refused_connections UInt64,
    queries UInt64,
    page_requests UInt64,
    page_misses UInt64,
    dirty_share Float32,
    rows_read UInt64,
    rows_changed UInt64,
    tmp_tables UInt64,
    tmp_tables_on_disk UInt64,
    row_lock_waits UInt64,
    row_lock_wait_ns UInt64,
    history_list Nullable(UInt64),
    replication_lag_s Nullable(Float64)
)
ENGINE = {replicated}MergeTree{keeper_path}
PARTITION BY toDate(at)
ORDER BY (server, at)
TTL toDateTime(at) + INTERVAL 30 DAY
SETTINGS {deduplication}, ttl_only_drop_parts = 1;

{cluster_only} CREATE TABLE IF NOT EXISTS mysql_status{on_cluster} AS mysql_status_local
ENGINE = Distributed({cluster}, {database}, 'mysql_status_local', cityHash64(server));

ALTER TABLE mysql_status{on_cluster}
    MODIFY COMMENT 'A row is a second of a MySQL or MariaDB server: its load, as it says itself.',
    COMMENT COLUMN IF EXISTS server 'its address as the applications know it: target.address',
    COMMENT COLUMN IF EXISTS over_ns 'the counters of the row are of this time',
    COMMENT COLUMN IF EXISTS threads_running 'statements that run, without the collector''s own',
    COMMENT COLUMN IF EXISTS refused_connections 'clients refused because max_connections was reached',
    COMMENT COLUMN IF EXISTS page_requests 'reads from the buffer pool',
    COMMENT COLUMN IF EXISTS page_misses 'of them, read from disk',
    COMMENT COLUMN IF EXISTS dirty_share 'of the pages of the buffer pool: changed, and not written yet',
    COMMENT COLUMN IF EXISTS row_lock_wait_ns 'of waits for row locks that ended',
    COMMENT COLUMN IF EXISTS history_list 'old row versions that InnoDB keeps for a long transaction; NULL: unknown',
    COMMENT COLUMN IF EXISTS replication_lag_s 'of the worst channel; NULL: no replica, stopped, or unknown'
