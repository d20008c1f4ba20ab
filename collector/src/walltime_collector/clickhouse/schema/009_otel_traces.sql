-- All spans in the columns of the OpenTelemetry Collector's ClickHouse exporter, for programs that read those columns:
-- Grafana's trace panel, HyperDX, queries of users. The view stores nothing. A transaction's SpanAttributes have its
-- bill as it was on the wire (docs/wire.md), without zeros.
--
--   Timestamp, ServiceName, SpanName, Duration   columns of the tables: conditions on them use the tables' index
--   TraceId                                      computed; the indexes by_hex_trace_id are for conditions on it
--
-- A root of another SDK is a span here; the transaction that is derived from it is left out.
ALTER TABLE spans{local}{on_cluster}
    ADD INDEX IF NOT EXISTS by_hex_trace_id lower(hex(trace_id)) TYPE minmax GRANULARITY 1;

ALTER TABLE transactions{local}{on_cluster}
    ADD INDEX IF NOT EXISTS by_hex_trace_id lower(hex(trace_id)) TYPE bloom_filter(0.00125) GRANULARITY 1;

CREATE VIEW IF NOT EXISTS otel_traces{on_cluster} AS
WITH
    -- the JSON that OTLP's arrays are stored as in other columns: / is not escaped
    texts -> concat('[',
        arrayStringConcat(arrayMap(text -> replaceAll(toJSONString(toString(text)), '\\/', '/'), texts), ','),
        ']') AS json_of_texts,
    numbers -> concat('[', arrayStringConcat(arrayMap(number -> toString(number), numbers), ','),
        ']') AS json_of_numbers
SELECT
    started_at AS Timestamp,
    lower(hex(trace_id)) AS TraceId,
    lower(hex(span_id)) AS SpanId,
    if(parent_span_id = toFixedString('', 8), '', lower(hex(parent_span_id))) AS ParentSpanId,
    trace_state AS TraceState,
    name AS SpanName,
    CAST(initcap(kind), 'LowCardinality(String)') AS SpanKind,
    service AS ServiceName,
    CAST(mapConcat(
        mapFilter((key, value) -> value != '', map(
            'service.name', toString(service), 'host.name', toString(host), 'service.instance.id', toString(instance),
            'service.version', toString(version), 'deployment.environment.name', toString(environment))),
        CAST(resource, 'Map(String, String)')), 'Map(LowCardinality(String), String)') AS ResourceAttributes,
    toString(scope_name) AS ScopeName,
    toString(scope_version) AS ScopeVersion,
    CAST(mapConcat(
        if(component = '', map(), map('walltime.component', toString(component), 'walltime.own_ns', toString(own_ns))),
        CAST(attributes, 'Map(String, String)')), 'Map(LowCardinality(String), String)') AS SpanAttributes,
    duration_ns AS Duration,
    CAST(initcap(status), 'LowCardinality(String)') AS StatusCode,
    status_message AS StatusMessage,
    `events.at` AS `Events.Timestamp`,
    `events.name` AS `Events.Name`,
    `events.attributes` AS `Events.Attributes`,
    arrayMap(id -> lower(hex(id)), `links.trace_id`) AS `Links.TraceId`,
    arrayMap(id -> lower(hex(id)), `links.span_id`) AS `Links.SpanId`,
    `links.trace_state` AS `Links.TraceState`,
    `links.attributes` AS `Links.Attributes`
FROM spans
UNION ALL
SELECT
    started_at,
    lower(hex(trace_id)),
    lower(hex(span_id)),
    if(parent_span_id = toFixedString('', 8), '', lower(hex(parent_span_id))),
    '',
    name,
    CAST(initcap(kind), 'LowCardinality(String)'),
    service,
    CAST(mapConcat(
        mapFilter((key, value) -> value != '', map(
            'service.name', toString(service), 'host.name', toString(host), 'service.instance.id', toString(instance),
            'service.version', toString(version), 'deployment.environment.name', toString(environment))),
        CAST(resource, 'Map(String, String)')), 'Map(LowCardinality(String), String)'),
    'walltime',
    '',
    CAST(arrayConcat(
        [('walltime.schema', '1'), ('walltime.sample_probability', toString(sample_probability)),
            ('walltime.covered_ns', toString(covered_ns))],
        arrayFilter(said -> said.2 != '', [
            ('walltime.kept', toString(kept)), ('walltime.queue_ns', ifNull(toString(queue_ns), '')),
            ('walltime.cpu_user_ns', ifNull(toString(cpu_user_ns), '')),
            ('walltime.cpu_system_ns', ifNull(toString(cpu_system_ns), '')),
            ('walltime.cpu_wait_ns', ifNull(toString(cpu_wait_ns), '')),
            ('walltime.loop_run_ns', ifNull(toString(loop_run_ns), '')),
            ('walltime.loop_wait_ns', ifNull(toString(loop_wait_ns), '')),
            ('http.request.method', toString(method)), ('error.type', toString(error_type)), ('user.id', user)]),
        arrayMap(counter -> (concat('walltime.', counter.1), toString(counter.2)), arrayFilter(
            counter -> counter.2 > 0, [
                ('peak_rss_growth_bytes', peak_rss_growth_bytes), ('cpu_throttled_ns', cpu_throttled_ns),
                ('calls_dropped', toUInt64(calls_dropped)),
                ('mysql.query.rows', toUInt64(mysql_query_rows)),
                ('mysql.query.deadlocks', toUInt64(mysql_query_deadlocks)),
                ('mysql.query.lock_timeouts', toUInt64(mysql_query_lock_timeouts)),
                ('mysql.fetch.rows', toUInt64(mysql_fetch_rows)),
                ('memcache.get.keys', toUInt64(memcache_get_keys)), ('memcache.get.hits', toUInt64(memcache_get_hits)),
                ('memcache.get.misses', toUInt64(memcache_get_misses)),
                ('memcache.set.not_stored', toUInt64(memcache_set_not_stored)),
                ('memcache.delete.keys', toUInt64(memcache_delete_keys)),
                ('memcache.delete.hits', toUInt64(memcache_delete_hits)),
                ('memcache.delete.misses', toUInt64(memcache_delete_misses)),
                ('memcache.incr.keys', toUInt64(memcache_incr_keys)),
                ('memcache.incr.hits', toUInt64(memcache_incr_hits)),
                ('memcache.incr.misses', toUInt64(memcache_incr_misses))])),
        if(http_status = 0, [], [('http.response.status_code', toString(http_status))]),
        arrayFlatten(arrayMap(
            of -> arrayConcat(
                [
                    (concat('walltime.', of.1, '.calls'), toString(of.2)),
                    (concat('walltime.', of.1, '.time_ns'), toString(of.3)),
                    (concat('walltime.', of.1, '.max_ns'), toString(of.4))],
                if(of.5 = 0, [], [(concat('walltime.', of.1, '.errors'), toString(of.5))])),
            arrayFilter(of -> of.2 > 0 OR of.3 > 0 OR of.5 > 0, [
                ('mysql.connect', mysql_connect_calls, mysql_connect_time_ns, mysql_connect_max_ns,
                    mysql_connect_errors),
                ('mysql.query', mysql_query_calls, mysql_query_time_ns, mysql_query_max_ns, mysql_query_errors),
                ('mysql.fetch', mysql_fetch_calls, mysql_fetch_time_ns, mysql_fetch_max_ns, mysql_fetch_errors),
                ('mysql.commit', mysql_commit_calls, mysql_commit_time_ns, mysql_commit_max_ns, mysql_commit_errors),
                ('memcache.connect', memcache_connect_calls, memcache_connect_time_ns, memcache_connect_max_ns,
                    memcache_connect_errors),
                ('memcache.get', memcache_get_calls, memcache_get_time_ns, memcache_get_max_ns, memcache_get_errors),
                ('memcache.set', memcache_set_calls, memcache_set_time_ns, memcache_set_max_ns, memcache_set_errors),
                ('memcache.delete', memcache_delete_calls, memcache_delete_time_ns, memcache_delete_max_ns,
                    memcache_delete_errors),
                ('memcache.incr', memcache_incr_calls, memcache_incr_time_ns, memcache_incr_max_ns,
                    memcache_incr_errors),
                ('http.connect', http_connect_calls, http_connect_time_ns, http_connect_max_ns, http_connect_errors),
                ('http.request', http_request_calls, http_request_time_ns, http_request_max_ns,
                    http_request_errors)]))),
        arrayMap((component, counted) -> (concat('walltime.', component, '.calls'), toString(counted)),
            mapKeys(custom_calls), mapValues(custom_calls)),
        arrayMap((component, counted) -> (concat('walltime.', component, '.time_ns'), toString(counted)),
            mapKeys(custom_time_ns), mapValues(custom_time_ns)),
        arrayMap((component, counted) -> (concat('walltime.', component, '.max_ns'), toString(counted)),
            mapKeys(custom_max_ns), mapValues(custom_max_ns)),
        arrayMap((component, counted) -> (concat('walltime.', component, '.errors'), toString(counted)),
            mapKeys(custom_errors), mapValues(custom_errors)),
        if(empty(`target.component`), [], [
            ('walltime.target.component', json_of_texts(`target.component`)),
            ('walltime.target.address', json_of_texts(`target.address`)),
            ('walltime.target.calls', json_of_numbers(`target.calls`)),
            ('walltime.target.time_ns', json_of_numbers(`target.time_ns`))]),
        if(arraySum(`target.errors`) = 0, [], [('walltime.target.errors', json_of_numbers(`target.errors`))]),
        if(arraySum(`target.hits`) + arraySum(`target.misses`) = 0, [], [
            ('walltime.target.hits', json_of_numbers(`target.hits`)),
            ('walltime.target.misses', json_of_numbers(`target.misses`))]),
        if(empty(`statement.text`), [], [
            ('walltime.statement.text', json_of_texts(`statement.text`)),
            ('walltime.statement.calls', json_of_numbers(`statement.calls`)),
            ('walltime.statement.time_ns', json_of_numbers(`statement.time_ns`))]),
        if(arraySum(`statement.errors`) = 0, [], [('walltime.statement.errors', json_of_numbers(`statement.errors`))]),
        if(empty(sample), [], [
            ('walltime.sample.component', json_of_texts(sample.component)),
            ('walltime.sample.line', json_of_texts(sample.line)),
            ('walltime.sample.function', json_of_texts(sample.function)),
            ('walltime.sample.library', json_of_texts(sample.library)),
            ('walltime.sample.state', json_of_texts(sample.state)),
            ('walltime.sample.stack', json_of_texts(sample.stack)),
            ('walltime.sample.count', json_of_numbers(sample.count)),
            ('walltime.sample.time_ns', json_of_numbers(sample.time_ns))]),
        CAST(attributes, 'Array(Tuple(String, String))')), 'Map(LowCardinality(String), String)'),
    duration_ns,
    CAST(if(is_error, 'Error', 'Unset'), 'LowCardinality(String)'),
    '',
    [],
    [],
    [],
    [],
    [],
    [],
    []
FROM transactions
WHERE kept != 'foreign';

-- Start and end of a trace: Grafana reads them first, to limit its query of the spans. Several rows a trace, as in
-- theirs.
CREATE VIEW IF NOT EXISTS otel_traces_trace_id_ts{on_cluster} AS
SELECT TraceId, toDateTime(Timestamp) AS Start, toDateTime(Timestamp) AS End
FROM otel_traces
