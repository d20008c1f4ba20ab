-- A row is an entry of a database's slow log: the server's figures of one statement. The trace id comes from the
-- statement's comment and joins the row to `transactions`; it is all zeros when the statement has no such comment.
-- Retention counts from the time of reading, not of the statement: a log of last year can be read and queried today.
-- `position` is the byte in the log where the entry begins; it keeps the order of entries of one second.
-- The slow-log reader inserts JSON rows into slow_log_entries; a view converts them (ids from hexadecimal).
CREATE TABLE IF NOT EXISTS slow_queries{local}{on_cluster}
(
    started_at DateTime64(6, 'UTC') CODEC(Delta, ZSTD(1)),
    read_at DateTime('UTC') CODEC(Delta, ZSTD(1)),
    query_ns UInt64,
    lock_ns UInt64,
    row_lock_ns UInt64,
    io_wait_ns UInt64,
    rows_sent UInt64,
    rows_examined UInt64,
    rows_affected UInt64,
    bytes_sent UInt64,
    server LowCardinality(String),
    database LowCardinality(String),
    user LowCardinality(String),
    client_host LowCardinality(String),
    connection_id UInt64,
    position UInt64,
    fingerprint String,
    fingerprint_id UInt64,
    sample String,
    trace_id FixedString(16),
    span_id FixedString(8),
    service LowCardinality(String),
    route LowCardinality(String),
    weight UInt32,
    errno UInt32,
    is_full_scan Bool,
    is_full_join Bool,
    is_tmp_table Bool,
    is_tmp_table_on_disk Bool,
    is_filesort Bool,
    is_filesort_on_disk Bool,
    fields Map(LowCardinality(String), String),

    INDEX by_trace_id trace_id TYPE bloom_filter(0.0001) GRANULARITY 1
)
ENGINE = {replicated}MergeTree{keeper_path}
PARTITION BY toDate(read_at)
ORDER BY (toStartOfHour(started_at), fingerprint_id, started_at)
TTL read_at + INTERVAL 30 DAY
SETTINGS {deduplication}, ttl_only_drop_parts = 1;

{cluster_only} CREATE TABLE IF NOT EXISTS slow_queries{on_cluster} AS slow_queries_local
ENGINE = Distributed({cluster}, {database}, 'slow_queries_local', cityHash64(trace_id));

CREATE TABLE IF NOT EXISTS slow_log_entries{on_cluster}
(
    started_us Int64,
    read_at UInt32,
    query_ns UInt64,
    lock_ns UInt64,
    row_lock_ns UInt64,
    io_wait_ns UInt64,
    rows_sent UInt64,
    rows_examined UInt64,
    rows_affected UInt64,
    bytes_sent UInt64,
    server String,
    database String,
    user String,
    client_host String,
    connection_id UInt64,
    position UInt64,
    fingerprint String,
    fingerprint_id UInt64,
    sample String,
    trace_id String,
    span_id String,
    service String,
    route String,
    weight UInt32,
    errno UInt32,
    is_full_scan Bool,
    is_full_join Bool,
    is_tmp_table Bool,
    is_tmp_table_on_disk Bool,
    is_filesort Bool,
    is_filesort_on_disk Bool,
    fields Map(String, String)
)
ENGINE = Null;

CREATE MATERIALIZED VIEW IF NOT EXISTS store_slow_queries{on_cluster} TO slow_queries AS
SELECT
    * EXCEPT (started_us, read_at, trace_id, span_id),
    fromUnixTimestamp64Micro(started_us, 'UTC') AS started_at,
    toDateTime(slow_log_entries.read_at, 'UTC') AS read_at,
    toFixedString(unhex(slow_log_entries.trace_id), 16) AS trace_id,
    toFixedString(unhex(slow_log_entries.span_id), 8) AS span_id
FROM slow_log_entries
