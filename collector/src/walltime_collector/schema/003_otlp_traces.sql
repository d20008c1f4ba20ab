-- The way in. The loader inserts spooled export requests into otlp_traces; views open them into rows:
--
--   otlp_traces ──open_requests──► otlp_spans ──┬─ store_transactions ─► transactions
--   (Null: a row is a request)     (Null:       ├─ store_spans ────────► spans
--                                   a span)     └─ count_irregular ────► irregular_spans
--
-- Every conversion here is one that cannot fail: no span, however absurd, may stop the requests around it.
CREATE TABLE IF NOT EXISTS otlp_traces
(
    received_at_ns UInt64,
    resource_spans Array(Tuple(
        resource Tuple(attributes Array(Tuple(
            key LowCardinality(String),
            value Tuple(
                value Enum8('none' = 0, 'string_value' = 1, 'bool_value' = 2, 'int_value' = 3, 'double_value' = 4, 'array_value' = 5, 'kvlist_value' = 6, 'bytes_value' = 7),
                string_value String, bool_value Bool, int_value Int64, double_value Float64, bytes_value String,
                array_value Tuple(values Array(Tuple(
                    value Enum8('none' = 0, 'string_value' = 1, 'bool_value' = 2, 'int_value' = 3, 'double_value' = 4, 'array_value' = 5, 'kvlist_value' = 6, 'bytes_value' = 7),
                    string_value String, bool_value Bool, int_value Int64, double_value Float64, bytes_value String))),
                kvlist_value Tuple(values Array(Tuple(key String, value Tuple(
                    value Enum8('none' = 0, 'string_value' = 1, 'bool_value' = 2, 'int_value' = 3, 'double_value' = 4, 'array_value' = 5, 'kvlist_value' = 6, 'bytes_value' = 7),
                    string_value String, bool_value Bool, int_value Int64, double_value Float64, bytes_value String)))))))),
        scope_spans Array(Tuple(
            scope Tuple(name LowCardinality(String), version LowCardinality(String)),
            spans Array(Tuple(
                trace_id String, span_id String, trace_state String, parent_span_id String,
                name LowCardinality(String), kind Int32, start_time_unix_nano UInt64, end_time_unix_nano UInt64,
                attributes Array(Tuple(
                    key LowCardinality(String),
                    value Tuple(
                        value Enum8('none' = 0, 'string_value' = 1, 'bool_value' = 2, 'int_value' = 3, 'double_value' = 4, 'array_value' = 5, 'kvlist_value' = 6, 'bytes_value' = 7),
                        string_value String, bool_value Bool, int_value Int64, double_value Float64, bytes_value String,
                        array_value Tuple(values Array(Tuple(
                            value Enum8('none' = 0, 'string_value' = 1, 'bool_value' = 2, 'int_value' = 3, 'double_value' = 4, 'array_value' = 5, 'kvlist_value' = 6, 'bytes_value' = 7),
                            string_value String, bool_value Bool, int_value Int64, double_value Float64, bytes_value String))),
                        kvlist_value Tuple(values Array(Tuple(key String, value Tuple(
                            value Enum8('none' = 0, 'string_value' = 1, 'bool_value' = 2, 'int_value' = 3, 'double_value' = 4, 'array_value' = 5, 'kvlist_value' = 6, 'bytes_value' = 7),
                            string_value String, bool_value Bool, int_value Int64, double_value Float64, bytes_value String))))))),
                events Array(Tuple(time_unix_nano UInt64, name LowCardinality(String), attributes Array(Tuple(
                    key LowCardinality(String),
                    value Tuple(
                        value Enum8('none' = 0, 'string_value' = 1, 'bool_value' = 2, 'int_value' = 3, 'double_value' = 4, 'array_value' = 5, 'kvlist_value' = 6, 'bytes_value' = 7),
                        string_value String, bool_value Bool, int_value Int64, double_value Float64, bytes_value String,
                        array_value Tuple(values Array(Tuple(
                            value Enum8('none' = 0, 'string_value' = 1, 'bool_value' = 2, 'int_value' = 3, 'double_value' = 4, 'array_value' = 5, 'kvlist_value' = 6, 'bytes_value' = 7),
                            string_value String, bool_value Bool, int_value Int64, double_value Float64, bytes_value String))),
                        kvlist_value Tuple(values Array(Tuple(key String, value Tuple(
                            value Enum8('none' = 0, 'string_value' = 1, 'bool_value' = 2, 'int_value' = 3, 'double_value' = 4, 'array_value' = 5, 'kvlist_value' = 6, 'bytes_value' = 7),
                            string_value String, bool_value Bool, int_value Int64, double_value Float64, bytes_value String))))))))),
                links Array(Tuple(trace_id String, span_id String, trace_state String, attributes Array(Tuple(
                    key LowCardinality(String),
                    value Tuple(
                        value Enum8('none' = 0, 'string_value' = 1, 'bool_value' = 2, 'int_value' = 3, 'double_value' = 4, 'array_value' = 5, 'kvlist_value' = 6, 'bytes_value' = 7),
                        string_value String, bool_value Bool, int_value Int64, double_value Float64, bytes_value String,
                        array_value Tuple(values Array(Tuple(
                            value Enum8('none' = 0, 'string_value' = 1, 'bool_value' = 2, 'int_value' = 3, 'double_value' = 4, 'array_value' = 5, 'kvlist_value' = 6, 'bytes_value' = 7),
                            string_value String, bool_value Bool, int_value Int64, double_value Float64, bytes_value String))),
                        kvlist_value Tuple(values Array(Tuple(key String, value Tuple(
                            value Enum8('none' = 0, 'string_value' = 1, 'bool_value' = 2, 'int_value' = 3, 'double_value' = 4, 'array_value' = 5, 'kvlist_value' = 6, 'bytes_value' = 7),
                            string_value String, bool_value Bool, int_value Int64, double_value Float64, bytes_value String))))))))),
                status Tuple(message String, code Int32)))))))
)
ENGINE = Null;

CREATE TABLE IF NOT EXISTS otlp_spans
(
    received_at_ns UInt64,
    has_ids Bool,
    has_plausible_start Bool,
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
    types Array(Enum8('none' = 0, 'string_value' = 1, 'bool_value' = 2, 'int_value' = 3, 'double_value' = 4, 'array_value' = 5, 'kvlist_value' = 6, 'bytes_value' = 7)),
    strings Array(String),
    ints Array(Int64),
    doubles Array(Float64),
    string_arrays Array(Array(String)),
    int_arrays Array(Array(Int64)),
    attributes Map(LowCardinality(String), String),
    resource Map(LowCardinality(String), String),
    events Nested(at DateTime64(9, 'UTC'), name LowCardinality(String), attributes Map(LowCardinality(String), String)),
    links Nested(trace_id FixedString(16), span_id FixedString(8), trace_state String, attributes Map(LowCardinality(String), String))
)
ENGINE = Null;

CREATE MATERIALIZED VIEW IF NOT EXISTS open_requests TO otlp_spans AS
WITH
    element -> multiIf(
        element.value = 'string_value', toJSONString(element.string_value), element.value = 'int_value', toString(element.int_value),
        element.value = 'double_value', toJSONString(element.double_value), element.value = 'bool_value', toString(element.bool_value),
        element.value = 'bytes_value', toJSONString(base64Encode(element.bytes_value)), 'null') AS json,
    value -> multiIf(
        value.value = 'string_value', value.string_value, value.value = 'int_value', toString(value.int_value),
        value.value = 'double_value', toString(value.double_value), value.value = 'bool_value', toString(value.bool_value),
        value.value = 'bytes_value', base64Encode(value.bytes_value),
        value.value = 'array_value', concat('[', arrayStringConcat(arrayMap(e -> json(e), value.array_value.values), ','), ']'),
        value.value = 'kvlist_value', concat('{', arrayStringConcat(arrayMap(e -> concat(toJSONString(e.key), ':', json(e.value)), value.kvlist_value.values), ','), '}'), '') AS text,
    -- what has a column of its own in transactions; sent with another type it stays among the attributes
    (key, type) -> (type = 'int_value' AND (match(key, '^walltime\\..+\\.(calls|time_ns|max_ns|errors)$') OR match(key, '^walltime\\.(mysql\\.query\\.(rows|deadlocks|lock_timeouts)|mysql\\.fetch\\.rows|memcache\\.get\\.(keys|hits|misses)|schema|queue_ns|cpu_user_ns|cpu_system_ns|peak_rss_growth_bytes|covered_ns|calls_dropped)$|^http\\.response\\.status_code$')))
        OR (type = 'string_value' AND key IN ('walltime.kept', 'user.id', 'http.request.method', 'error.type'))
        OR (type = 'double_value' AND key = 'walltime.sample_probability')
        OR (type = 'array_value' AND match(key, '^walltime\\.(target\\.(component|address|calls|time_ns|errors|hits|misses)|statement\\.(text|calls|time_ns|errors))$')) AS in_transaction_column,
    (key, type) -> (type = 'string_value' AND key = 'walltime.component') OR (type = 'int_value' AND key = 'walltime.own_ns') AS in_span_column
SELECT
    received_at_ns,
    length(span.trace_id) = 16 AND length(span.span_id) = 8 AND span.trace_id != unhex('00000000000000000000000000000000') AND span.span_id != unhex('0000000000000000') AS has_ids,
    span.start_time_unix_nano BETWEEN received_at_ns - 29 * 86400000000000 AND received_at_ns + 86400000000000 AS has_plausible_start,
    ints[indexOf(keys, 'walltime.schema')] = 1 AS is_transaction,
    toFixedString(substring(span.trace_id, 1, 16), 16) AS trace_id,
    toFixedString(substring(span.span_id, 1, 8), 8) AS span_id,
    toFixedString(if(length(span.parent_span_id) = 8, substring(span.parent_span_id, 1, 8), ''), 8) AS parent_span_id,
    fromUnixTimestamp64Nano(toInt64(if(has_plausible_start, span.start_time_unix_nano, received_at_ns)), 'UTC') AS started_at,
    if(span.end_time_unix_nano > span.start_time_unix_nano, least(span.end_time_unix_nano - span.start_time_unix_nano, 30 * 86400000000000), 0) AS duration_ns,
    service,
    span.name AS name,
    transform(span.kind, [2, 3, 4, 5], ['server', 'client', 'producer', 'consumer'], 'internal') AS kind,
    transform(span.status.code, [1, 2], ['ok', 'error'], 'unset') AS status,
    span.status.message AS status_message,
    host, instance, version, environment, scope_name, scope_version,
    span.trace_state AS trace_state,
    span.attributes.key AS keys,
    span.attributes.value.value AS types,
    span.attributes.value.string_value AS strings,
    span.attributes.value.int_value AS ints,
    span.attributes.value.double_value AS doubles,
    span.attributes.value.array_value.values.string_value AS string_arrays,
    span.attributes.value.array_value.values.int_value AS int_arrays,
    CAST(arrayMap(a -> (a.key, text(a.value)), arrayFilter(a -> NOT if(is_transaction, in_transaction_column(a.key, a.value.value), in_span_column(a.key, a.value.value)), span.attributes)), 'Map(LowCardinality(String), String)') AS attributes,
    resource,
    arrayMap(e -> fromUnixTimestamp64Nano(toInt64(e.time_unix_nano), 'UTC'), span.events) AS `events.at`,
    span.events.name AS `events.name`,
    arrayMap(e -> CAST(arrayMap(a -> (a.key, text(a.value)), e.attributes), 'Map(LowCardinality(String), String)'), span.events) AS `events.attributes`,
    arrayMap(l -> toFixedString(substring(l.trace_id, 1, 16), 16), span.links) AS `links.trace_id`,
    arrayMap(l -> toFixedString(substring(l.span_id, 1, 8), 8), span.links) AS `links.span_id`,
    span.links.trace_state AS `links.trace_state`,
    arrayMap(l -> CAST(arrayMap(a -> (a.key, text(a.value)), l.attributes), 'Map(LowCardinality(String), String)'), span.links) AS `links.attributes`
FROM
(
    SELECT * EXCEPT (spans), arrayJoin(spans) AS span
    FROM
    (
        SELECT
            * EXCEPT (scope_spans),
            arrayJoin(scope_spans) AS scope_span,
            scope_span.scope.name AS scope_name, scope_span.scope.version AS scope_version, scope_span.spans AS spans
        FROM
        (
            WITH
                arrayJoin(resource_spans) AS resource_span, resource_span.resource.attributes AS attributes,
                attributes.key AS keys, attributes.value.string_value AS strings
            SELECT
                received_at_ns,
                strings[indexOf(keys, 'service.name')] AS service,
                strings[indexOf(keys, 'host.name')] AS host,
                strings[indexOf(keys, 'service.instance.id')] AS instance,
                strings[indexOf(keys, 'service.version')] AS version,
                strings[indexOf(keys, 'deployment.environment.name')] AS environment,
                CAST(arrayMap(a -> (a.key, text(a.value)), arrayFilter(a -> NOT (a.value.value = 'string_value' AND a.key IN ('service.name', 'host.name', 'service.instance.id', 'service.version', 'deployment.environment.name')), attributes)), 'Map(LowCardinality(String), String)') AS resource,
                resource_span.scope_spans AS scope_spans
            FROM otlp_traces
        )
    )
);

CREATE MATERIALIZED VIEW IF NOT EXISTS store_transactions TO transactions AS
SELECT
    trace_id, span_id, parent_span_id, started_at, duration_ns, service, name, kind, host, instance, version, environment,
    strings[indexOf(keys, 'user.id')] AS user,
    strings[indexOf(keys, 'http.request.method')] AS method,
    counts['http.response.status_code'] AS http_status,
    status = 'error' AS is_error,
    strings[indexOf(keys, 'error.type')] AS error_type,
    strings[indexOf(keys, 'walltime.kept')] AS kept,
    doubles[indexOf(keys, 'walltime.sample_probability')] AS sample_probability,
    if(mapContains(counts, 'walltime.queue_ns'), counts['walltime.queue_ns'], NULL) AS queue_ns,
    if(mapContains(counts, 'walltime.cpu_user_ns'), counts['walltime.cpu_user_ns'], NULL) AS cpu_user_ns,
    if(mapContains(counts, 'walltime.cpu_system_ns'), counts['walltime.cpu_system_ns'], NULL) AS cpu_system_ns,
    counts['walltime.peak_rss_growth_bytes'] AS peak_rss_growth_bytes,
    counts['walltime.covered_ns'] AS covered_ns,
    counts['walltime.calls_dropped'] AS calls_dropped,
    counts['walltime.mysql.connect.calls'] AS mysql_connect_calls, counts['walltime.mysql.connect.time_ns'] AS mysql_connect_time_ns,
    counts['walltime.mysql.connect.max_ns'] AS mysql_connect_max_ns, counts['walltime.mysql.connect.errors'] AS mysql_connect_errors,
    counts['walltime.mysql.query.calls'] AS mysql_query_calls, counts['walltime.mysql.query.time_ns'] AS mysql_query_time_ns,
    counts['walltime.mysql.query.max_ns'] AS mysql_query_max_ns, counts['walltime.mysql.query.errors'] AS mysql_query_errors,
    counts['walltime.mysql.query.rows'] AS mysql_query_rows, counts['walltime.mysql.query.deadlocks'] AS mysql_query_deadlocks,
    counts['walltime.mysql.query.lock_timeouts'] AS mysql_query_lock_timeouts,
    counts['walltime.mysql.fetch.calls'] AS mysql_fetch_calls, counts['walltime.mysql.fetch.time_ns'] AS mysql_fetch_time_ns,
    counts['walltime.mysql.fetch.max_ns'] AS mysql_fetch_max_ns, counts['walltime.mysql.fetch.errors'] AS mysql_fetch_errors,
    counts['walltime.mysql.fetch.rows'] AS mysql_fetch_rows,
    counts['walltime.mysql.commit.calls'] AS mysql_commit_calls, counts['walltime.mysql.commit.time_ns'] AS mysql_commit_time_ns,
    counts['walltime.mysql.commit.max_ns'] AS mysql_commit_max_ns, counts['walltime.mysql.commit.errors'] AS mysql_commit_errors,
    counts['walltime.memcache.connect.calls'] AS memcache_connect_calls, counts['walltime.memcache.connect.time_ns'] AS memcache_connect_time_ns,
    counts['walltime.memcache.connect.max_ns'] AS memcache_connect_max_ns, counts['walltime.memcache.connect.errors'] AS memcache_connect_errors,
    counts['walltime.memcache.get.calls'] AS memcache_get_calls, counts['walltime.memcache.get.time_ns'] AS memcache_get_time_ns,
    counts['walltime.memcache.get.max_ns'] AS memcache_get_max_ns, counts['walltime.memcache.get.errors'] AS memcache_get_errors,
    counts['walltime.memcache.get.keys'] AS memcache_get_keys, counts['walltime.memcache.get.hits'] AS memcache_get_hits,
    counts['walltime.memcache.get.misses'] AS memcache_get_misses,
    counts['walltime.memcache.set.calls'] AS memcache_set_calls, counts['walltime.memcache.set.time_ns'] AS memcache_set_time_ns,
    counts['walltime.memcache.set.max_ns'] AS memcache_set_max_ns, counts['walltime.memcache.set.errors'] AS memcache_set_errors,
    counts['walltime.memcache.delete.calls'] AS memcache_delete_calls, counts['walltime.memcache.delete.time_ns'] AS memcache_delete_time_ns,
    counts['walltime.memcache.delete.max_ns'] AS memcache_delete_max_ns, counts['walltime.memcache.delete.errors'] AS memcache_delete_errors,
    counts['walltime.memcache.incr.calls'] AS memcache_incr_calls, counts['walltime.memcache.incr.time_ns'] AS memcache_incr_time_ns,
    counts['walltime.memcache.incr.max_ns'] AS memcache_incr_max_ns, counts['walltime.memcache.incr.errors'] AS memcache_incr_errors,
    counts['walltime.http.connect.calls'] AS http_connect_calls, counts['walltime.http.connect.time_ns'] AS http_connect_time_ns,
    counts['walltime.http.connect.max_ns'] AS http_connect_max_ns, counts['walltime.http.connect.errors'] AS http_connect_errors,
    counts['walltime.http.request.calls'] AS http_request_calls, counts['walltime.http.request.time_ns'] AS http_request_time_ns,
    counts['walltime.http.request.max_ns'] AS http_request_max_ns, counts['walltime.http.request.errors'] AS http_request_errors,
    CAST(arrayFilter(c -> c.1 != '', arrayMap(c -> (extract(c.1, '^walltime\\.(.+)\\.calls$'), c.2), custom)), 'Map(LowCardinality(String), UInt64)') AS custom_calls,
    CAST(arrayFilter(c -> c.1 != '', arrayMap(c -> (extract(c.1, '^walltime\\.(.+)\\.time_ns$'), c.2), custom)), 'Map(LowCardinality(String), UInt64)') AS custom_time_ns,
    CAST(arrayFilter(c -> c.1 != '', arrayMap(c -> (extract(c.1, '^walltime\\.(.+)\\.max_ns$'), c.2), custom)), 'Map(LowCardinality(String), UInt64)') AS custom_max_ns,
    CAST(arrayFilter(c -> c.1 != '', arrayMap(c -> (extract(c.1, '^walltime\\.(.+)\\.errors$'), c.2), custom)), 'Map(LowCardinality(String), UInt64)') AS custom_errors,
    string_arrays[indexOf(keys, 'walltime.target.component')] AS `target.component`,
    arrayResize(string_arrays[indexOf(keys, 'walltime.target.address')], length(`target.component`)) AS `target.address`,
    arrayResize(int_arrays[indexOf(keys, 'walltime.target.calls')], length(`target.component`)) AS `target.calls`,
    arrayResize(int_arrays[indexOf(keys, 'walltime.target.time_ns')], length(`target.component`)) AS `target.time_ns`,
    arrayResize(int_arrays[indexOf(keys, 'walltime.target.errors')], length(`target.component`)) AS `target.errors`,
    arrayResize(int_arrays[indexOf(keys, 'walltime.target.hits')], length(`target.component`)) AS `target.hits`,
    arrayResize(int_arrays[indexOf(keys, 'walltime.target.misses')], length(`target.component`)) AS `target.misses`,
    string_arrays[indexOf(keys, 'walltime.statement.text')] AS `statement.text`,
    arrayResize(int_arrays[indexOf(keys, 'walltime.statement.calls')], length(`statement.text`)) AS `statement.calls`,
    arrayResize(int_arrays[indexOf(keys, 'walltime.statement.time_ns')], length(`statement.text`)) AS `statement.time_ns`,
    arrayResize(int_arrays[indexOf(keys, 'walltime.statement.errors')], length(`statement.text`)) AS `statement.errors`,
    attributes, resource
FROM
(
    SELECT
        * EXCEPT (ints, types),
        arrayFilter(a -> a.2 = 'int_value', arrayZip(keys, types, ints)) AS numbers,
        CAST(arrayMap(a -> (a.1, toUInt64(greatest(a.3, 0))), numbers), 'Map(LowCardinality(String), UInt64)') AS counts,
        arrayMap(a -> (a.1, toUInt64(greatest(a.3, 0))), arrayFilter(
            a -> match(a.1, '^walltime\\..+\\.(calls|time_ns|max_ns|errors)$')
                AND NOT match(a.1, '^walltime\\.(mysql\\.(connect|query|fetch|commit)|memcache\\.(connect|get|set|delete|incr)|http\\.(connect|request))\\.(calls|time_ns|max_ns|errors)$'),
            numbers)) AS custom
    FROM otlp_spans
    WHERE is_transaction AND has_ids
);

CREATE MATERIALIZED VIEW IF NOT EXISTS store_spans TO spans AS
SELECT
    trace_id, span_id, parent_span_id, started_at, duration_ns, service, name, kind, status, status_message,
    strings[indexOf(keys, 'walltime.component')] AS component,
    greatest(ints[indexOf(keys, 'walltime.own_ns')], 0) AS own_ns,
    trace_state, scope_name, scope_version, attributes, resource,
    `events.at`, `events.name`, `events.attributes`,
    `links.trace_id`, `links.span_id`, `links.trace_state`, `links.attributes`
FROM otlp_spans
WHERE NOT is_transaction AND has_ids;
