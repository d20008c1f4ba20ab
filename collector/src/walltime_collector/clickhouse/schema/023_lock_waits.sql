-- A row is a statement that waited for a lock, and who held it; it is written again while the wait goes on, and the
-- newest one counts. Query with FINAL. Statements have no values in them; of the row that is waited for, only whole
-- numbers of its key are kept. A deadlock has a row for each of its transactions, that waits for the next one.
CREATE TABLE IF NOT EXISTS lock_waits{local}{on_cluster}
(
    started_at DateTime64(6, 'UTC') CODEC(Delta, ZSTD(1)),
    updated_at DateTime64(3, 'UTC'),
    server LowCardinality(String),
    sort LowCardinality(String),
    waited_ns UInt64,
    is_over Bool,
    is_rolled_back Bool,
    object String,
    index_name LowCardinality(String),
    key String,
    mode LowCardinality(String),
    holder_mode LowCardinality(String),
    connection_id UInt64,
    statement String,
    fingerprint_id UInt64,
    trace_id FixedString(16),
    span_id FixedString(8),
    service LowCardinality(String),
    route LowCardinality(String),
    holder_connection_id UInt64,
    holder_statement String,
    holder_fingerprint_id UInt64,
    holder_trace_id FixedString(16),
    holder_span_id FixedString(8),
    holder_service LowCardinality(String),
    holder_route LowCardinality(String),
    holder_running String,
    holder_idle_ns UInt64,
    holder_transaction_ns UInt64,

    INDEX by_trace_id trace_id TYPE bloom_filter(0.001) GRANULARITY 1,
    INDEX by_holder holder_trace_id TYPE bloom_filter(0.001) GRANULARITY 1
)
ENGINE = {replicated}ReplacingMergeTree{keeper_path}
PARTITION BY toDate(started_at)
ORDER BY (server, started_at, connection_id, holder_connection_id)
TTL toDateTime(started_at) + INTERVAL 30 DAY
SETTINGS {deduplication}, ttl_only_drop_parts = 1;

{cluster_only} CREATE TABLE IF NOT EXISTS lock_waits{on_cluster} AS lock_waits_local
ENGINE = Distributed({cluster}, {database}, 'lock_waits_local', cityHash64(trace_id));

CREATE TABLE IF NOT EXISTS lock_wait_entries{on_cluster}
(
    started_at DateTime64(6, 'UTC'),
    updated_at DateTime64(3, 'UTC'),
    server String,
    sort String,
    waited_ns UInt64,
    is_over Bool,
    is_rolled_back Bool,
    object String,
    index_name String,
    key String,
    mode String,
    holder_mode String,
    connection_id UInt64,
    statement String,
    fingerprint_id UInt64,
    trace_id String,
    span_id String,
    service String,
    route String,
    holder_connection_id UInt64,
    holder_statement String,
    holder_fingerprint_id UInt64,
    holder_trace_id String,
    holder_span_id String,
    holder_service String,
    holder_route String,
    holder_running String,
    holder_idle_ns UInt64,
    holder_transaction_ns UInt64
)
ENGINE = Null;

CREATE MATERIALIZED VIEW IF NOT EXISTS store_lock_waits{on_cluster} TO lock_waits AS
SELECT
    * EXCEPT (trace_id, span_id, holder_trace_id, holder_span_id),
    toFixedString(unhex(lock_wait_entries.trace_id), 16) AS trace_id,
    toFixedString(unhex(lock_wait_entries.span_id), 8) AS span_id,
    toFixedString(unhex(lock_wait_entries.holder_trace_id), 16) AS holder_trace_id,
    toFixedString(unhex(lock_wait_entries.holder_span_id), 8) AS holder_span_id
FROM lock_wait_entries;

ALTER TABLE lock_waits{on_cluster}
    MODIFY COMMENT 'A row is a wait for a lock of a database: the statement that waited, and the one that held the lock. Query with FINAL.',
    COMMENT COLUMN IF EXISTS started_at 'of the wait, UTC; of a deadlock, with a fraction made of its transaction''s id',
    COMMENT COLUMN IF EXISTS server 'its address as the applications know it: target.address',
    COMMENT COLUMN IF EXISTS sort 'row, metadata, table or deadlock',
    COMMENT COLUMN IF EXISTS waited_ns 'until it was last seen, or ended; of a deadlock 0: unknown',
    COMMENT COLUMN IF EXISTS is_rolled_back 'of a deadlock: this is the transaction that the server ended',
    COMMENT COLUMN IF EXISTS object 'the table, as database.table',
    COMMENT COLUMN IF EXISTS key 'of the row, whole numbers only',
    COMMENT COLUMN IF EXISTS trace_id 'of the transaction that waited; zeros when its statement has no comment',
    COMMENT COLUMN IF EXISTS holder_connection_id '0: who held the lock is unknown',
    COMMENT COLUMN IF EXISTS holder_statement 'took the lock, as far as that is known; else the last one of its transaction',
    COMMENT COLUMN IF EXISTS holder_trace_id 'of the transaction that held the lock',
    COMMENT COLUMN IF EXISTS holder_running 'the statement that the holder ran meanwhile; empty while it was idle',
    COMMENT COLUMN IF EXISTS holder_idle_ns 'how long the holder had sent nothing; 0 while it worked',
    COMMENT COLUMN IF EXISTS holder_transaction_ns 'how long its database transaction had lasted; 0: unknown'
