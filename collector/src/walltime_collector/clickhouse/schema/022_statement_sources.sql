-- Statements also come from performance_schema, which knows their time on a CPU. 0: unknown.
ALTER TABLE slow_queries{local}{on_cluster}
    ADD COLUMN IF NOT EXISTS cpu_ns UInt64,
    ADD COLUMN IF NOT EXISTS source LowCardinality(String) DEFAULT 'slow_log';

{cluster_only} ALTER TABLE slow_queries{on_cluster}
    ADD COLUMN IF NOT EXISTS cpu_ns UInt64,
    ADD COLUMN IF NOT EXISTS source LowCardinality(String) DEFAULT 'slow_log';

ALTER TABLE slow_log_entries{on_cluster}
    ADD COLUMN IF NOT EXISTS cpu_ns UInt64,
    ADD COLUMN IF NOT EXISTS source String DEFAULT 'slow_log';

ALTER TABLE store_slow_queries{on_cluster} MODIFY QUERY
SELECT
    * EXCEPT (started_us, read_at, trace_id, span_id),
    fromUnixTimestamp64Micro(started_us, 'UTC') AS started_at,
    toDateTime(slow_log_entries.read_at, 'UTC') AS read_at,
    toFixedString(unhex(slow_log_entries.trace_id), 16) AS trace_id,
    toFixedString(unhex(slow_log_entries.span_id), 8) AS span_id
FROM slow_log_entries;

ALTER TABLE slow_queries{on_cluster}
    COMMENT COLUMN IF EXISTS cpu_ns 'time on a CPU of the server; 0: unknown',
    COMMENT COLUMN IF EXISTS source 'slow_log or performance_schema'
