-- A row is a kept call, or a span of another SDK; ordered for reading one trace. The root span of a transaction is only
-- in `transactions`.
CREATE TABLE IF NOT EXISTS spans{local}{on_cluster}
(
    trace_id FixedString(16),
    span_id FixedString(8),
    parent_span_id FixedString(8),
    started_at DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1)),
    duration_ns UInt64,
    service LowCardinality(String),
    name LowCardinality(String),
    kind LowCardinality(String),
    host LowCardinality(String),
    instance LowCardinality(String),
    version LowCardinality(String),
    environment LowCardinality(String),
    status LowCardinality(String),
    status_message String,
    component LowCardinality(String),
    nested_ns UInt64,
    -- the part of the duration in nested calls that are components of their own; mostly 0, so it takes no space
    own_ns UInt64 ALIAS duration_ns - nested_ns,
    trace_state String,
    scope_name LowCardinality(String),
    scope_version LowCardinality(String),
    attributes Map(LowCardinality(String), String),
    resource Map(LowCardinality(String), LowCardinality(String)),
    events Nested(at DateTime64(9, 'UTC'), name LowCardinality(String), attributes Map(LowCardinality(String), String)),
    links Nested(trace_id FixedString(16), span_id FixedString(8), trace_state String,
        attributes Map(LowCardinality(String), String))
)
ENGINE = {replicated}MergeTree{keeper_path}
PARTITION BY toDate(started_at)
ORDER BY (trace_id, started_at)
TTL toDateTime(started_at) + INTERVAL 7 DAY
SETTINGS {deduplication}, ttl_only_drop_parts = 1, default_compression_codec = 'ZSTD(1)', merge_selector_base = 10,
    min_columns_to_activate_adaptive_write_buffer = 1, vertical_merge_algorithm_min_rows_to_activate = 1,
    index_granularity = 2048;

{cluster_only} CREATE TABLE IF NOT EXISTS spans{on_cluster} AS spans_local
ENGINE = Distributed({cluster}, {database}, 'spans_local', cityHash64(trace_id))
