-- Splits export requests: one row per span in otlp_spans, with the conversions that transactions and spans share.
--
-- ClickHouse analyses a view at every INSERT. A function costs more the larger its type is, and again for each use of
-- its alias. So the fields are selected from the nested arrays by name (which copies nothing) and joined level by
-- level, and an expression with two uses is computed one level further in. docs/decisions/017 has the numbers.
--
-- Starts more than 29 days back or a day ahead become the time of receipt, so that an INSERT, whose requests were
-- received together, touches at most 32 daily partitions; and so that a repetition has the same blocks, which its token
-- needs.
--
-- Impossible times (a start before the year 2000 or more than a year ahead, an end before its start, a duration or a
-- `walltime.*_ns` above 7 days) would distort every mean. Such a span is no transaction and has no duration: it is
-- stored in `spans`, with its times as attributes, and counted. docs/decisions/005 has the reasons.
CREATE MATERIALIZED VIEW IF NOT EXISTS open_requests{on_cluster} TO otlp_spans AS
WITH
    -- a value as text, by its type: 1 string, 2 bool, 3 int, 4 double, 5 array, 6 list of keys and values, 7 bytes
    (type, string, int, double, bool) -> multiIf(type = 1, string, type = 3, toString(int), type = 4, toString(double),
        type = 2, toString(bool), '') AS scalar,
    -- arrays become JSON, one level deep
    v -> multiIf(
        v.value IN ('string_value', 'bytes_value'), toJSONString(concat(v.string_value, base64Encode(v.bytes_value))),
        v.value = 'none', 'null', scalar(v.value, '', v.int_value, v.double_value, v.bool_value)) AS json,
    v -> if(v.value = 'bytes_value', base64Encode(v.bytes_value), concat(
        if(v.value = 'array_value', '[', '{'),
        arrayStringConcat(arrayMap(
            (key, e) -> concat(key, json(e)),
            arrayConcat(arrayMap(e -> '', v.array_value.values),
                arrayMap(e -> concat(toJSONString(e.key), ':'), v.kvlist_value.values)),
            arrayConcat(v.array_value.values, v.kvlist_value.values.value)), ','),
        if(v.value = 'array_value', ']', '}'))) AS nested,
    v -> if(v.value IN ('array_value', 'kvlist_value', 'bytes_value'), nested(v),
        scalar(v.value, v.string_value, v.int_value, v.double_value, v.bool_value)) AS text
SELECT
    received_at_ns,
    length(trace) = 16 AND length(id) = 8 AND trace != unhex('00000000000000000000000000000000')
        AND id != unhex('0000000000000000') AS has_ids,
    has_recent_start,
    has_plausible_times,
    length(keys) <= most_attributes AS has_all_attributes,
    is_transaction,
    toFixedString(substring(trace, 1, 16), 16) AS trace_id,
    toFixedString(substring(id, 1, 8), 8) AS span_id,
    toFixedString(if(length(parent) = 8, substring(parent, 1, 8), ''), 8) AS parent_span_id,
    fromUnixTimestamp64Nano(toInt64(if(has_recent_start, start_ns, received_at_ns)), 'UTC') AS started_at,
    if(has_plausible_times, toUInt64(end_ns - start_ns), 0) AS duration_ns,
    service,
    name,
    transform(kind_code, [2, 3, 4, 5], ['server', 'client', 'producer', 'consumer'], 'internal') AS kind,
    transform(status_code, [1, 2], ['ok', 'error'], 'unset') AS status,
    status_message, host, instance, version, environment, scope_name, scope_version, trace_state,
    keys, types, classes, strings, ints, doubles,
    values.array_value.values.string_value AS string_arrays,
    values.array_value.values.int_value AS int_arrays,
    -- arrays without a column are rare and expensive: they are converted only when there is one
    mapFromArrays(
        arrayConcat(arrayFilter((key, is_here) -> is_here, keys, is_attribute),
            if(has_plausible_times, [], ['walltime.set_aside'])),
        arrayConcat(
            arrayFilter(
                (text, is_here) -> is_here,
                if(arrayExists((type, is_here) -> type > 4 AND is_here, types, is_attribute),
                    arrayMap((v, type, scalar) -> if(type > 4, nested(v), scalar), values, types, scalars), scalars),
                is_attribute),
            if(has_plausible_times, [],
                [concat('times are not plausible: start ', toString(start_ns), ' ns, end ', toString(end_ns),
                        ' ns')]))) AS attributes,
    resource,
    arrayMap(at -> fromUnixTimestamp64Nano(toInt64(at), 'UTC'), event_at) AS `events.at`,
    event_name AS `events.name`,
    arraySlice(event_and_link_attributes, 1, length(event_at)) AS `events.attributes`,
    arrayMap(link -> toFixedString(substring(link, 1, 16), 16), link_trace) AS `links.trace_id`,
    arrayMap(link -> toFixedString(substring(link, 1, 8), 8), link_span) AS `links.span_id`,
    link_state AS `links.trace_state`,
    arraySlice(event_and_link_attributes, 1 + length(event_at)) AS `links.attributes`
FROM
(
    SELECT
        *,
        start_ns BETWEEN received_at_ns - 29 * 86400000000000 AND received_at_ns + 86400000000000 AS has_recent_start,
        is_bill AND has_plausible_times AS is_transaction,
        if(is_bill, 1024, 128) AS most_attributes,
        -- a value in a column or in a custom_* map is no attribute; a value of another type than its column's is
        arrayMap(
            (class, type, at) -> at <= most_attributes
                AND ((abs(class) % 10 != type AND NOT (class > 20 AND type = 3)) OR (class > 0) != is_transaction),
            classes, types, arrayEnumerate(keys)) AS is_attribute,
        -- both in one expression, because each use of `text` costs
        arrayMap(each -> mapFromArrays(each.key, arrayMap(v -> text(v), each.value)),
            arrayConcat(event_attributes, link_attributes)) AS event_and_link_attributes
    FROM
    (
        SELECT
            *,
            CAST(values.value, 'Array(Int8)') AS types,
            values.string_value AS strings, values.int_value AS ints, values.double_value AS doubles,
            arrayMap((type, string, int, double, bool) -> scalar(type, string, int, double, bool), types, strings, ints,
                doubles, values.bool_value) AS scalars,
            ints[indexOf(keys, 'walltime.schema')] = 1 AS is_bill,
            -- requests may be old, and clocks wrong; a start of 0 or in another unit is before the year 2000
            start_ns BETWEEN 946684800000000000 AND received_at_ns + 366 * 86400000000000
                AND end_ns BETWEEN start_ns AND start_ns + 7 * 86400000000000
                AND NOT arrayExists((int, key) -> int > 7 * 86400000000000 AND key LIKE 'walltime.%\\_ns', ints, keys)
                AND NOT arrayExists(
                    (ints, key) -> arrayExists(int -> int > 7 * 86400000000000, ints) AND key LIKE 'walltime.%\\_ns',
                    values.array_value.values.int_value, keys) AS has_plausible_times,
            -- the units digit is the type of the key's column, 9 without one; negative: a column of `spans`; the tens
            -- digit is the custom_* map of an integer: 2 calls, 3 time_ns, 4 max_ns, 5 errors (a component may be named
            -- `target`)
            arrayMap(key -> multiIf(
                key IN (
                    'walltime.schema', 'walltime.queue_ns', 'walltime.cpu_user_ns', 'walltime.cpu_system_ns',
                    'walltime.cpu_wait_ns', 'walltime.cpu_throttled_ns', 'walltime.loop_run_ns',
                    'walltime.loop_wait_ns',
                    'walltime.peak_rss_growth_bytes', 'walltime.covered_ns', 'walltime.calls_dropped',
                    'http.response.status_code', 'walltime.mysql.connect.calls', 'walltime.mysql.connect.time_ns',
                    'walltime.mysql.connect.max_ns', 'walltime.mysql.connect.errors', 'walltime.mysql.query.calls',
                    'walltime.mysql.query.time_ns', 'walltime.mysql.query.max_ns', 'walltime.mysql.query.errors',
                    'walltime.mysql.query.rows', 'walltime.mysql.query.deadlocks', 'walltime.mysql.query.lock_timeouts',
                    'walltime.mysql.fetch.calls', 'walltime.mysql.fetch.time_ns', 'walltime.mysql.fetch.max_ns',
                    'walltime.mysql.fetch.errors', 'walltime.mysql.fetch.rows', 'walltime.mysql.commit.calls',
                    'walltime.mysql.commit.time_ns', 'walltime.mysql.commit.max_ns', 'walltime.mysql.commit.errors',
                    'walltime.memcache.connect.calls', 'walltime.memcache.connect.time_ns',
                    'walltime.memcache.connect.max_ns', 'walltime.memcache.connect.errors',
                    'walltime.memcache.get.calls',
                    'walltime.memcache.get.time_ns', 'walltime.memcache.get.max_ns', 'walltime.memcache.get.errors',
                    'walltime.memcache.get.keys', 'walltime.memcache.get.hits', 'walltime.memcache.get.misses',
                    'walltime.memcache.set.calls', 'walltime.memcache.set.time_ns', 'walltime.memcache.set.max_ns',
                    'walltime.memcache.set.errors', 'walltime.memcache.delete.calls',
                    'walltime.memcache.delete.time_ns',
                    'walltime.memcache.delete.max_ns', 'walltime.memcache.delete.errors',
                    'walltime.memcache.incr.calls',
                    'walltime.memcache.incr.time_ns', 'walltime.memcache.incr.max_ns', 'walltime.memcache.incr.errors',
                    'walltime.http.connect.calls', 'walltime.http.connect.time_ns', 'walltime.http.connect.max_ns',
                    'walltime.http.connect.errors', 'walltime.http.request.calls', 'walltime.http.request.time_ns',
                    'walltime.http.request.max_ns', 'walltime.http.request.errors', 'walltime.memcache.set.not_stored',
                    'walltime.memcache.delete.keys', 'walltime.memcache.delete.hits', 'walltime.memcache.delete.misses',
                    'walltime.memcache.incr.keys', 'walltime.memcache.incr.hits', 'walltime.memcache.incr.misses'), 3,
                key IN ('walltime.target.component', 'walltime.target.address', 'walltime.target.hits',
                    'walltime.target.misses', 'walltime.statement.text', 'walltime.sample.component',
                    'walltime.sample.line', 'walltime.sample.function', 'walltime.sample.library',
                    'walltime.sample.state', 'walltime.sample.stack', 'walltime.sample.count'), 5,
                key IN ('walltime.target.calls', 'walltime.statement.calls'), 25,
                key IN ('walltime.target.time_ns', 'walltime.statement.time_ns', 'walltime.sample.time_ns'), 35,
                key IN ('walltime.target.errors', 'walltime.statement.errors'), 55,
                key IN ('walltime.kept', 'user.id', 'http.request.method', 'error.type'), 1,
                key = 'walltime.sample_probability', 4,
                key = 'walltime.component', -1, key = 'walltime.own_ns', -3,
                NOT key LIKE 'walltime.%_.%', 9,
                endsWith(key, '.calls'), 29, endsWith(key, '.time_ns'), 39, endsWith(key, '.max_ns'), 49,
                endsWith(key, '.errors'), 59, 9), keys) AS classes
        FROM
        (
            SELECT
                received_at_ns, service, host, instance, version, environment, resource,
                scope_name, scope_version, trace, id, parent, trace_state, name, kind_code, start_ns, end_ns, keys,
                values,
                event_at, event_name, event_attributes, link_trace, link_span, link_state, link_attributes, status_code,
                status_message
            FROM
            (
                SELECT
                    received_at_ns, service, host, instance, version, environment, resource,
                    scope_name, scope_version, trace, id, parent, trace_state, name, kind_code, start_ns, end_ns, keys,
                    values, event_at, event_name, event_attributes, link_trace, link_span, link_state, link_attributes,
                    status_code, status_message
                FROM
                (
                    SELECT
                        received_at_ns,
                        resource_values.string_value AS resource_strings,
                        resource_strings[indexOf(resource_keys, 'service.name')] AS service,
                        resource_strings[indexOf(resource_keys, 'host.name')] AS host,
                        resource_strings[indexOf(resource_keys, 'service.instance.id')] AS instance,
                        resource_strings[indexOf(resource_keys, 'service.version')] AS version,
                        resource_strings[indexOf(resource_keys, 'deployment.environment.name')] AS environment,
                        arrayMap((key, v) -> NOT (v.value = 'string_value'
                                AND key IN ('service.name', 'host.name', 'service.instance.id', 'service.version',
                                    'deployment.environment.name')), resource_keys, resource_values) AS is_kept,
                        mapFromArrays(
                            arrayFilter((key, is_kept) -> is_kept, resource_keys, is_kept),
                            CAST(arrayMap(v -> text(v), arrayFilter((v, is_kept) -> is_kept, resource_values, is_kept)),
                                'Array(LowCardinality(String))')) AS resource,
                        scope_name, scope_version, trace, id, parent, trace_state, name, kind_code, start_ns, end_ns,
                        keys,
                        values, event_at, event_name, event_attributes, link_trace, link_span, link_state,
                        link_attributes,
                        status_code, status_message
                    FROM otlp_traces
                    ARRAY JOIN
                        resource_spans.resource.attributes.key AS resource_keys,
                        resource_spans.resource.attributes.value AS resource_values,
                        resource_spans.scope_spans.scope.name AS scope_name,
                        resource_spans.scope_spans.scope.version AS scope_version,
                        resource_spans.scope_spans.spans.trace_id AS trace,
                        resource_spans.scope_spans.spans.span_id AS id,
                        resource_spans.scope_spans.spans.parent_span_id AS parent,
                        resource_spans.scope_spans.spans.trace_state AS trace_state,
                        resource_spans.scope_spans.spans.name AS name,
                        resource_spans.scope_spans.spans.kind AS kind_code,
                        resource_spans.scope_spans.spans.start_time_unix_nano AS start_ns,
                        resource_spans.scope_spans.spans.end_time_unix_nano AS end_ns,
                        resource_spans.scope_spans.spans.attributes.key AS keys,
                        resource_spans.scope_spans.spans.attributes.value AS values,
                        resource_spans.scope_spans.spans.events.time_unix_nano AS event_at,
                        resource_spans.scope_spans.spans.events.name AS event_name,
                        resource_spans.scope_spans.spans.events.attributes AS event_attributes,
                        resource_spans.scope_spans.spans.links.trace_id AS link_trace,
                        resource_spans.scope_spans.spans.links.span_id AS link_span,
                        resource_spans.scope_spans.spans.links.trace_state AS link_state,
                        resource_spans.scope_spans.spans.links.attributes AS link_attributes,
                        resource_spans.scope_spans.spans.status.code AS status_code,
                        resource_spans.scope_spans.spans.status.message AS status_message
                )
                ARRAY JOIN
                    scope_name, scope_version, trace, id, parent, trace_state, name, kind_code, start_ns, end_ns, keys,
                    values, event_at, event_name, event_attributes, link_trace, link_span, link_state, link_attributes,
                    status_code, status_message
            )
            ARRAY JOIN
                trace, id, parent, trace_state, name, kind_code, start_ns, end_ns, keys, values, event_at, event_name,
                event_attributes, link_trace, link_span, link_state, link_attributes, status_code, status_message
        )
    )
)
