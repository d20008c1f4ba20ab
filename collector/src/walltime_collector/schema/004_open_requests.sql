-- Opens export requests: one row per span in otlp_spans, with the conversions that transactions and spans share.
-- Starts more than 29 days back or a day ahead become the time of receipt, so that an insert, whose requests were received
-- together, touches at most 32 daily partitions; and so that a retry cuts the very same blocks, which is what makes its
-- token work.
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
    [
        'walltime.schema', 'walltime.queue_ns', 'walltime.cpu_user_ns', 'walltime.cpu_system_ns',
        'walltime.peak_rss_growth_bytes', 'walltime.covered_ns', 'walltime.calls_dropped',
        'http.response.status_code', 'walltime.mysql.connect.calls', 'walltime.mysql.connect.time_ns',
        'walltime.mysql.connect.max_ns', 'walltime.mysql.connect.errors', 'walltime.mysql.query.calls',
        'walltime.mysql.query.time_ns', 'walltime.mysql.query.max_ns', 'walltime.mysql.query.errors',
        'walltime.mysql.query.rows', 'walltime.mysql.query.deadlocks', 'walltime.mysql.query.lock_timeouts',
        'walltime.mysql.fetch.calls', 'walltime.mysql.fetch.time_ns', 'walltime.mysql.fetch.max_ns',
        'walltime.mysql.fetch.errors', 'walltime.mysql.fetch.rows', 'walltime.mysql.commit.calls',
        'walltime.mysql.commit.time_ns', 'walltime.mysql.commit.max_ns', 'walltime.mysql.commit.errors',
        'walltime.memcache.connect.calls', 'walltime.memcache.connect.time_ns', 'walltime.memcache.connect.max_ns',
        'walltime.memcache.connect.errors', 'walltime.memcache.get.calls', 'walltime.memcache.get.time_ns',
        'walltime.memcache.get.max_ns', 'walltime.memcache.get.errors', 'walltime.memcache.get.keys',
        'walltime.memcache.get.hits', 'walltime.memcache.get.misses', 'walltime.memcache.set.calls',
        'walltime.memcache.set.time_ns', 'walltime.memcache.set.max_ns', 'walltime.memcache.set.errors',
        'walltime.memcache.delete.calls', 'walltime.memcache.delete.time_ns', 'walltime.memcache.delete.max_ns',
        'walltime.memcache.delete.errors', 'walltime.memcache.incr.calls', 'walltime.memcache.incr.time_ns',
        'walltime.memcache.incr.max_ns', 'walltime.memcache.incr.errors', 'walltime.http.connect.calls',
        'walltime.http.connect.time_ns', 'walltime.http.connect.max_ns', 'walltime.http.connect.errors',
        'walltime.http.request.calls', 'walltime.http.request.time_ns', 'walltime.http.request.max_ns',
        'walltime.http.request.errors', 'walltime.memcache.set.not_stored', 'walltime.memcache.delete.keys',
        'walltime.memcache.delete.hits', 'walltime.memcache.delete.misses', 'walltime.memcache.incr.keys',
        'walltime.memcache.incr.hits', 'walltime.memcache.incr.misses'
    ] AS int_columns,
    [
        'walltime.target.component', 'walltime.target.address', 'walltime.target.calls', 'walltime.target.time_ns',
        'walltime.target.errors', 'walltime.target.hits', 'walltime.target.misses', 'walltime.statement.text',
        'walltime.statement.calls', 'walltime.statement.time_ns', 'walltime.statement.errors'
    ] AS array_columns,
    ['walltime.kept', 'user.id', 'http.request.method', 'error.type'] AS string_columns,
    ['walltime.sample_probability'] AS double_columns,
    -- what has a column of its own in transactions; sent with another type it stays among the attributes
    (key, type) -> type = transform(
        key,
        arrayConcat(int_columns, array_columns, string_columns, double_columns),
        arrayConcat(
            arrayWithConstant(length(int_columns), 3), arrayWithConstant(length(array_columns), 5),
            arrayWithConstant(length(string_columns), 1), arrayWithConstant(length(double_columns), 4)),
        -1) AS in_transaction_column,
    (key, type) -> type = 'int_value' AND startsWith(key, 'walltime.') AND match(key, '^walltime\\..+\\.(calls|time_ns|max_ns|errors)$') AS is_custom,
    arrayFilter(a -> NOT in_transaction_column(a.key, CAST(a.value.value, 'Int8')), span.attributes) AS rest
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
    arrayMap(a -> (a.key, toUInt64(greatest(a.value.int_value, 0))), arrayFilter(a -> is_custom(a.key, a.value.value), if(is_transaction, rest, []))) AS custom,
    multiIf(
        is_transaction,
        CAST(arrayMap(a -> (a.key, text(a.value)), arrayFilter(a -> NOT is_custom(a.key, a.value.value), rest)), 'Map(LowCardinality(String), String)'),
        has(keys, 'walltime.component'),
        CAST(arrayMap(a -> (a.key, text(a.value)), arrayFilter(a -> a.key NOT IN ('walltime.component', 'walltime.own_ns'), span.attributes)), 'Map(LowCardinality(String), String)'),
        mapFromArrays(keys, arrayMap(v -> text(v), span.attributes.value))) AS attributes,
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
)
