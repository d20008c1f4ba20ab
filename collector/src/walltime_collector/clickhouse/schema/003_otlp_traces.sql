-- The entry of spans. The loader inserts spooled export requests into otlp_traces; views split them into rows:
--
--   otlp_traces ──open_requests──► otlp_spans ──┬─ store_transactions ─► transactions
--   (Null: a row is a request)     (Null:       ├─ store_spans ────────► spans
--                                   a span)     └─ count_irregular ────► irregular_spans
--
-- No conversion here can fail: no span, however absurd, may stop the requests around it.
CREATE TABLE IF NOT EXISTS otlp_traces{on_cluster}
(
    received_at_ns UInt64,
    resource_spans Array(Tuple(
        resource Tuple(attributes Array(Tuple(
            key LowCardinality(String),
            value Tuple(
                value Enum8('none' = 0, 'string_value' = 1, 'bool_value' = 2, 'int_value' = 3, 'double_value' = 4,
                    'array_value' = 5, 'kvlist_value' = 6, 'bytes_value' = 7),
                string_value String, bool_value Bool, int_value Int64, double_value Float64, bytes_value String,
                array_value Tuple(values Array(Tuple(
                    value Enum8('none' = 0, 'string_value' = 1, 'bool_value' = 2, 'int_value' = 3, 'double_value' = 4,
                        'array_value' = 5, 'kvlist_value' = 6, 'bytes_value' = 7),
                    string_value String, bool_value Bool, int_value Int64, double_value Float64, bytes_value String))),
                kvlist_value Tuple(values Array(Tuple(key String, value Tuple(
                    value Enum8('none' = 0, 'string_value' = 1, 'bool_value' = 2, 'int_value' = 3, 'double_value' = 4,
                        'array_value' = 5, 'kvlist_value' = 6, 'bytes_value' = 7),
                    string_value String, bool_value Bool, int_value Int64, double_value Float64,
                    bytes_value String)))))))),
        scope_spans Array(Tuple(
            scope Tuple(name LowCardinality(String), version LowCardinality(String),
                attributes Array(Tuple(key String, value Tuple(int_value Int64)))),
            spans Array(Tuple(
                trace_id String, span_id String, trace_state String, parent_span_id String,
                name LowCardinality(String), kind Int32, start_time_unix_nano UInt64, end_time_unix_nano UInt64,
                attributes Array(Tuple(
                    key LowCardinality(String),
                    value Tuple(
                        value Enum8('none' = 0, 'string_value' = 1, 'bool_value' = 2, 'int_value' = 3,
                            'double_value' = 4, 'array_value' = 5, 'kvlist_value' = 6, 'bytes_value' = 7),
                        string_value String, bool_value Bool, int_value Int64, double_value Float64, bytes_value String,
                        array_value Tuple(values Array(Tuple(
                            value Enum8('none' = 0, 'string_value' = 1, 'bool_value' = 2, 'int_value' = 3,
                                'double_value' = 4, 'array_value' = 5, 'kvlist_value' = 6, 'bytes_value' = 7),
                            string_value String, bool_value Bool, int_value Int64, double_value Float64,
                            bytes_value String))),
                        kvlist_value Tuple(values Array(Tuple(key String, value Tuple(
                            value Enum8('none' = 0, 'string_value' = 1, 'bool_value' = 2, 'int_value' = 3,
                                'double_value' = 4, 'array_value' = 5, 'kvlist_value' = 6, 'bytes_value' = 7),
                            string_value String, bool_value Bool, int_value Int64, double_value Float64,
                            bytes_value String))))))),
                events Array(Tuple(time_unix_nano UInt64, name LowCardinality(String), attributes Array(Tuple(
                    key LowCardinality(String),
                    value Tuple(
                        value Enum8('none' = 0, 'string_value' = 1, 'bool_value' = 2, 'int_value' = 3,
                            'double_value' = 4, 'array_value' = 5, 'kvlist_value' = 6, 'bytes_value' = 7),
                        string_value String, bool_value Bool, int_value Int64, double_value Float64, bytes_value String,
                        array_value Tuple(values Array(Tuple(
                            value Enum8('none' = 0, 'string_value' = 1, 'bool_value' = 2, 'int_value' = 3,
                                'double_value' = 4, 'array_value' = 5, 'kvlist_value' = 6, 'bytes_value' = 7),
                            string_value String, bool_value Bool, int_value Int64, double_value Float64,
                            bytes_value String))),
                        kvlist_value Tuple(values Array(Tuple(key String, value Tuple(
                            value Enum8('none' = 0, 'string_value' = 1, 'bool_value' = 2, 'int_value' = 3,
                                'double_value' = 4, 'array_value' = 5, 'kvlist_value' = 6, 'bytes_value' = 7),
                            string_value String, bool_value Bool, int_value Int64, double_value Float64,
                            bytes_value String))))))))),
                links Array(Tuple(trace_id String, span_id String, trace_state String, attributes Array(Tuple(
                    key LowCardinality(String),
                    value Tuple(
                        value Enum8('none' = 0, 'string_value' = 1, 'bool_value' = 2, 'int_value' = 3,
                            'double_value' = 4, 'array_value' = 5, 'kvlist_value' = 6, 'bytes_value' = 7),
                        string_value String, bool_value Bool, int_value Int64, double_value Float64, bytes_value String,
                        array_value Tuple(values Array(Tuple(
                            value Enum8('none' = 0, 'string_value' = 1, 'bool_value' = 2, 'int_value' = 3,
                                'double_value' = 4, 'array_value' = 5, 'kvlist_value' = 6, 'bytes_value' = 7),
                            string_value String, bool_value Bool, int_value Int64, double_value Float64,
                            bytes_value String))),
                        kvlist_value Tuple(values Array(Tuple(key String, value Tuple(
                            value Enum8('none' = 0, 'string_value' = 1, 'bool_value' = 2, 'int_value' = 3,
                                'double_value' = 4, 'array_value' = 5, 'kvlist_value' = 6, 'bytes_value' = 7),
                            string_value String, bool_value Bool, int_value Int64, double_value Float64,
                            bytes_value String))))))))),
                status Tuple(message String, code Int32)))))))
)
ENGINE = Null;

CREATE TABLE IF NOT EXISTS otlp_spans{local}{on_cluster}
(
    received_at_ns UInt64,
    has_ids Bool,
    has_recent_start Bool,
    has_plausible_times Bool,
    has_all_attributes Bool,
    is_transaction Bool,
    trace_id FixedString(16),
    span_id FixedString(8),
    parent_span_id FixedString(8),
    started_at DateTime64(9, 'UTC'),
    duration_ns UInt64,
    service LowCardinality(String),
    name LowCardinality(String),
    kind LowCardinality(String),
    status LowCardinality(String),
    status_message String,
    host LowCardinality(String),
    instance LowCardinality(String),
    version LowCardinality(String),
    environment LowCardinality(String),
    scope_name LowCardinality(String),
    scope_version LowCardinality(String),
    trace_state String,
    keys Array(LowCardinality(String)),
    types Array(Int8), -- as in `value` above
    classes Array(Int8), -- see 004
    strings Array(String),
    ints Array(Int64),
    doubles Array(Float64),
    string_arrays Array(Array(String)),
    int_arrays Array(Array(Int64)),
    attributes Map(LowCardinality(String), String),
    resource Map(LowCardinality(String), LowCardinality(String)),
    events Nested(at DateTime64(9, 'UTC'), name LowCardinality(String), attributes Map(LowCardinality(String), String)),
    links Nested(trace_id FixedString(16), span_id FixedString(8), trace_state String,
        attributes Map(LowCardinality(String), String))
)
ENGINE = Null;

{cluster_only} CREATE TABLE IF NOT EXISTS otlp_spans{on_cluster} AS otlp_spans_local
ENGINE = Distributed({cluster}, {database}, 'otlp_spans_local', cityHash64(trace_id));

-- Irregular spans by minute and reason.
--   bad_ids             the trace id has not 16 bytes or the span id has not 8, or one is all zeros; not stored
--   clamped_start       the start is more than 29 days before or a day after receipt; stored at the time of receipt
--   implausible_times   a start, an end or a duration is impossible (see 004); stored in `spans` without a duration,
--                       never as a transaction; the attribute `walltime.set_aside` has the times as sent
--   attributes_dropped  more than 128 attributes, 1,024 of a transaction: those beyond are stored only in columns
CREATE TABLE IF NOT EXISTS irregular_spans{local}{on_cluster}
(
    minute DateTime('UTC'),
    reason LowCardinality(String),
    spans UInt64
)
ENGINE = {replicated}SummingMergeTree{keeper_path}
ORDER BY (minute, reason)
TTL minute + INTERVAL 30 DAY
SETTINGS {deduplication};

{cluster_only} CREATE TABLE IF NOT EXISTS irregular_spans{on_cluster} AS irregular_spans_local
ENGINE = Distributed({cluster}, {database}, 'irregular_spans_local', 0)
