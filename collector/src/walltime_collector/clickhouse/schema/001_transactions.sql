-- A row is a transaction with its bill.
-- Columns of the built-in components are named <system>_<operation>_<counter>, so that a query can select them all
-- with COLUMNS('_time_ns$') APPLY sum; components that the application names are in the custom_* maps.
-- Times are in nanoseconds; Nullable columns may be unknown. docs/wire.md describes each attribute.
CREATE TABLE IF NOT EXISTS transactions{local}{on_cluster}
(
    trace_id FixedString(16),
    span_id FixedString(8),
    parent_span_id FixedString(8),
    started_at DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
    duration_ns UInt64 CODEC(GCD, T64, ZSTD(1)),
    service LowCardinality(String),
    name LowCardinality(String),
    kind LowCardinality(String),
    host LowCardinality(String),
    instance LowCardinality(String),
    version LowCardinality(String),
    environment LowCardinality(String),
    user String,
    method LowCardinality(String),
    http_status UInt16,
    is_error Bool,
    error_type LowCardinality(String),
    kept LowCardinality(String),
    sample_probability Float64,

    queue_ns Nullable(UInt64) CODEC(GCD, T64, ZSTD(1)),
    cpu_user_ns Nullable(UInt64) CODEC(GCD, T64, ZSTD(1)),
    cpu_system_ns Nullable(UInt64) CODEC(GCD, T64, ZSTD(1)),
    cpu_wait_ns Nullable(UInt64) CODEC(GCD, T64, ZSTD(1)),
    cpu_throttled_ns UInt64,
    loop_run_ns Nullable(UInt64) CODEC(GCD, T64, ZSTD(1)),
    loop_wait_ns Nullable(UInt64) CODEC(GCD, T64, ZSTD(1)),
    peak_rss_growth_bytes UInt64,
    covered_ns UInt64 CODEC(GCD, T64, ZSTD(1)),
    other_ns UInt64 ALIAS duration_ns - least(covered_ns, duration_ns),
    calls_dropped UInt32,

    mysql_connect_calls UInt32, mysql_connect_time_ns UInt64, mysql_connect_max_ns UInt64, mysql_connect_errors UInt32,
    mysql_query_calls UInt32, mysql_query_time_ns UInt64, mysql_query_max_ns UInt64, mysql_query_errors UInt32,
    mysql_query_rows UInt64, mysql_query_deadlocks UInt32, mysql_query_lock_timeouts UInt32,
    mysql_fetch_calls UInt32, mysql_fetch_time_ns UInt64, mysql_fetch_max_ns UInt64, mysql_fetch_errors UInt32,
    mysql_fetch_rows UInt64,
    mysql_commit_calls UInt32, mysql_commit_time_ns UInt64, mysql_commit_max_ns UInt64, mysql_commit_errors UInt32,
    memcache_connect_calls UInt32, memcache_connect_time_ns UInt64, memcache_connect_max_ns UInt64,
    memcache_connect_errors UInt32,
    memcache_get_calls UInt32, memcache_get_time_ns UInt64, memcache_get_max_ns UInt64, memcache_get_errors UInt32,
    memcache_get_keys UInt32, memcache_get_hits UInt32, memcache_get_misses UInt32,
    memcache_set_calls UInt32, memcache_set_time_ns UInt64, memcache_set_max_ns UInt64, memcache_set_errors UInt32,
    memcache_set_not_stored UInt32,
    memcache_delete_calls UInt32, memcache_delete_time_ns UInt64, memcache_delete_max_ns UInt64,
    memcache_delete_errors UInt32,
    memcache_delete_keys UInt32, memcache_delete_hits UInt32, memcache_delete_misses UInt32,
    memcache_incr_calls UInt32, memcache_incr_time_ns UInt64, memcache_incr_max_ns UInt64, memcache_incr_errors UInt32,
    memcache_incr_keys UInt32, memcache_incr_hits UInt32, memcache_incr_misses UInt32,
    http_connect_calls UInt32, http_connect_time_ns UInt64, http_connect_max_ns UInt64, http_connect_errors UInt32,
    http_request_calls UInt32, http_request_time_ns UInt64, http_request_max_ns UInt64, http_request_errors UInt32,

    custom_calls Map(LowCardinality(String), UInt64),
    custom_time_ns Map(LowCardinality(String), UInt64),
    custom_max_ns Map(LowCardinality(String), UInt64),
    custom_errors Map(LowCardinality(String), UInt64),

    -- written out, because a column inside Nested cannot have a codec
    `target.component` Array(LowCardinality(String)), `target.address` Array(LowCardinality(String)),
    `target.calls` Array(UInt32),
    `target.time_ns` Array(UInt64) CODEC(GCD, T64, ZSTD(1)), `target.errors` Array(UInt32),
    `target.hits` Array(UInt32), `target.misses` Array(UInt32),
    `statement.text` Array(String), `statement.calls` Array(UInt32),
    `statement.time_ns` Array(UInt64) CODEC(GCD, T64, ZSTD(1)), `statement.errors` Array(UInt32),
    -- see 019
    sample Array(Tuple(component LowCardinality(String), line LowCardinality(String), function LowCardinality(String),
        library LowCardinality(String), state LowCardinality(String), stack LowCardinality(String), count UInt32,
        time_ns UInt64)),
    -- hits, misses and skipped of components without columns, by attribute name; the attributes have them too
    more_counters Map(LowCardinality(String), UInt64),
    attributes Map(LowCardinality(String), String),
    resource Map(LowCardinality(String), LowCardinality(String)),

    -- 14 bits a row, half of them set: ClickHouse compresses sparser filters, and reading those takes three times as
    -- long
    INDEX by_trace_id trace_id TYPE bloom_filter(0.00125) GRANULARITY 1
)
ENGINE = {replicated}MergeTree{keeper_path}
PARTITION BY toDate(started_at)
ORDER BY (service, name, started_at)
TTL toDateTime(started_at) + INTERVAL 30 DAY
SETTINGS {deduplication}, ttl_only_drop_parts = 1, default_compression_codec = 'ZSTD(1)', merge_selector_base = 10,
    min_columns_to_activate_adaptive_write_buffer = 1, vertical_merge_algorithm_min_rows_to_activate = 1;

{cluster_only} CREATE TABLE IF NOT EXISTS transactions{on_cluster} AS transactions_local
ENGINE = Distributed({cluster}, {database}, 'transactions_local', cityHash64(trace_id))
