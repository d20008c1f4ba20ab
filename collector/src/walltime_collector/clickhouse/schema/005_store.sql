-- For a service with more than 10,000 names on a day (health/cardinality_limit.py): the names that stay on that day,
-- with `_OTHER`. Every other name of the service is stored as `_OTHER`, and in the attribute walltime.name. The table
-- is nearly always empty, and then it costs an INSERT nothing.
CREATE TABLE IF NOT EXISTS crowded_names{local}{on_cluster}
(
    day Date,
    service LowCardinality(String),
    name LowCardinality(String)
)
ENGINE = {replicated}ReplacingMergeTree{keeper_path}
ORDER BY (day, service, name)
TTL day + INTERVAL 2 DAY
SETTINGS {deduplication};

{cluster_only} CREATE TABLE IF NOT EXISTS crowded_names{on_cluster} AS crowded_names_local
ENGINE = Distributed({cluster}, {database}, 'crowded_names_local', 0);

-- Stores each span once: a transaction in `transactions`, other spans in `spans`, spans without ids in neither.
CREATE MATERIALIZED VIEW IF NOT EXISTS store_transactions{on_cluster} TO transactions{local} AS
WITH
    key -> by_key[key] AS number,
    key -> if(types[indexOf(keys, key)] = 3, by_key[key], NULL) AS known,
    key -> string_arrays[indexOf(keys, key)] AS texts,
    -- `cut` is the length of `walltime.<component>.<counter>` without the component's name
    (wanted, cut) -> mapFromArrays(
        arrayMap(key -> substring(key, 1 + length('walltime.'), length(key) - cut),
            arrayFilter((key, class, type) -> intDiv(class, 10) = wanted AND type = 3, keys, classes, types)),
        arrayFilter((count, class, type) -> intDiv(class, 10) = wanted AND type = 3, counts, classes,
            types)) AS custom_counter
SELECT
    trace_id, span_id, parent_span_id, started_at, duration_ns, service,
    if(is_crowded_out, '_OTHER', full_name) AS name,
    kind, host, instance, version, environment,
    strings[indexOf(keys, 'user.id')] AS user,
    strings[indexOf(keys, 'http.request.method')] AS method,
    number('http.response.status_code') AS http_status,
    status = 'error' AS is_error,
    strings[indexOf(keys, 'error.type')] AS error_type,
    strings[indexOf(keys, 'walltime.kept')] AS kept,
    doubles[indexOf(keys, 'walltime.sample_probability')] AS sample_probability,
    known('walltime.queue_ns') AS queue_ns,
    known('walltime.cpu_user_ns') AS cpu_user_ns,
    known('walltime.cpu_system_ns') AS cpu_system_ns,
    known('walltime.cpu_wait_ns') AS cpu_wait_ns,
    number('walltime.cpu_throttled_ns') AS cpu_throttled_ns,
    known('walltime.loop_run_ns') AS loop_run_ns,
    known('walltime.loop_wait_ns') AS loop_wait_ns,
    number('walltime.peak_rss_growth_bytes') AS peak_rss_growth_bytes,
    number('walltime.covered_ns') AS covered_ns,
    number('walltime.calls_dropped') AS calls_dropped,
    number('walltime.mysql.connect.calls') AS mysql_connect_calls,
    number('walltime.mysql.connect.time_ns') AS mysql_connect_time_ns,
    number('walltime.mysql.connect.max_ns') AS mysql_connect_max_ns,
    number('walltime.mysql.connect.errors') AS mysql_connect_errors,
    number('walltime.mysql.query.calls') AS mysql_query_calls,
    number('walltime.mysql.query.time_ns') AS mysql_query_time_ns,
    number('walltime.mysql.query.max_ns') AS mysql_query_max_ns,
    number('walltime.mysql.query.errors') AS mysql_query_errors,
    number('walltime.mysql.query.rows') AS mysql_query_rows,
    number('walltime.mysql.query.deadlocks') AS mysql_query_deadlocks,
    number('walltime.mysql.query.lock_timeouts') AS mysql_query_lock_timeouts,
    number('walltime.mysql.fetch.calls') AS mysql_fetch_calls,
    number('walltime.mysql.fetch.time_ns') AS mysql_fetch_time_ns,
    number('walltime.mysql.fetch.max_ns') AS mysql_fetch_max_ns,
    number('walltime.mysql.fetch.errors') AS mysql_fetch_errors,
    number('walltime.mysql.fetch.rows') AS mysql_fetch_rows,
    number('walltime.mysql.commit.calls') AS mysql_commit_calls,
    number('walltime.mysql.commit.time_ns') AS mysql_commit_time_ns,
    number('walltime.mysql.commit.max_ns') AS mysql_commit_max_ns,
    number('walltime.mysql.commit.errors') AS mysql_commit_errors,
    number('walltime.memcache.connect.calls') AS memcache_connect_calls,
    number('walltime.memcache.connect.time_ns') AS memcache_connect_time_ns,
    number('walltime.memcache.connect.max_ns') AS memcache_connect_max_ns,
    number('walltime.memcache.connect.errors') AS memcache_connect_errors,
    number('walltime.memcache.get.calls') AS memcache_get_calls,
    number('walltime.memcache.get.time_ns') AS memcache_get_time_ns,
    number('walltime.memcache.get.max_ns') AS memcache_get_max_ns,
    number('walltime.memcache.get.errors') AS memcache_get_errors,
    number('walltime.memcache.get.keys') AS memcache_get_keys,
    number('walltime.memcache.get.hits') AS memcache_get_hits,
    number('walltime.memcache.get.misses') AS memcache_get_misses,
    number('walltime.memcache.set.calls') AS memcache_set_calls,
    number('walltime.memcache.set.time_ns') AS memcache_set_time_ns,
    number('walltime.memcache.set.max_ns') AS memcache_set_max_ns,
    number('walltime.memcache.set.errors') AS memcache_set_errors,
    number('walltime.memcache.set.not_stored') AS memcache_set_not_stored,
    number('walltime.memcache.delete.calls') AS memcache_delete_calls,
    number('walltime.memcache.delete.time_ns') AS memcache_delete_time_ns,
    number('walltime.memcache.delete.max_ns') AS memcache_delete_max_ns,
    number('walltime.memcache.delete.errors') AS memcache_delete_errors,
    number('walltime.memcache.delete.keys') AS memcache_delete_keys,
    number('walltime.memcache.delete.hits') AS memcache_delete_hits,
    number('walltime.memcache.delete.misses') AS memcache_delete_misses,
    number('walltime.memcache.incr.calls') AS memcache_incr_calls,
    number('walltime.memcache.incr.time_ns') AS memcache_incr_time_ns,
    number('walltime.memcache.incr.max_ns') AS memcache_incr_max_ns,
    number('walltime.memcache.incr.errors') AS memcache_incr_errors,
    number('walltime.memcache.incr.keys') AS memcache_incr_keys,
    number('walltime.memcache.incr.hits') AS memcache_incr_hits,
    number('walltime.memcache.incr.misses') AS memcache_incr_misses,
    number('walltime.http.connect.calls') AS http_connect_calls,
    number('walltime.http.connect.time_ns') AS http_connect_time_ns,
    number('walltime.http.connect.max_ns') AS http_connect_max_ns,
    number('walltime.http.connect.errors') AS http_connect_errors,
    number('walltime.http.request.calls') AS http_request_calls,
    number('walltime.http.request.time_ns') AS http_request_time_ns,
    number('walltime.http.request.max_ns') AS http_request_max_ns,
    number('walltime.http.request.errors') AS http_request_errors,
    custom_counter(2, length('walltime.') + length('.calls')) AS custom_calls,
    custom_counter(3, length('walltime.') + length('.time_ns')) AS custom_time_ns,
    custom_counter(4, length('walltime.') + length('.max_ns')) AS custom_max_ns,
    custom_counter(5, length('walltime.') + length('.errors')) AS custom_errors,
    string_arrays[indexOf(keys, 'walltime.target.component')] AS `target.component`,
    arrayResize(string_arrays[indexOf(keys, 'walltime.target.address')],
        length(`target.component`)) AS `target.address`,
    arrayResize(int_arrays[indexOf(keys, 'walltime.target.calls')], length(`target.component`)) AS `target.calls`,
    arrayResize(int_arrays[indexOf(keys, 'walltime.target.time_ns')], length(`target.component`)) AS `target.time_ns`,
    arrayResize(int_arrays[indexOf(keys, 'walltime.target.errors')], length(`target.component`)) AS `target.errors`,
    arrayResize(int_arrays[indexOf(keys, 'walltime.target.hits')], length(`target.component`)) AS `target.hits`,
    arrayResize(int_arrays[indexOf(keys, 'walltime.target.misses')], length(`target.component`)) AS `target.misses`,
    string_arrays[indexOf(keys, 'walltime.statement.text')] AS `statement.text`,
    arrayResize(int_arrays[indexOf(keys, 'walltime.statement.calls')], length(`statement.text`)) AS `statement.calls`,
    arrayResize(int_arrays[indexOf(keys, 'walltime.statement.time_ns')],
        length(`statement.text`)) AS `statement.time_ns`,
    arrayResize(int_arrays[indexOf(keys, 'walltime.statement.errors')], length(`statement.text`)) AS `statement.errors`,
    arrayMap(
        (count, at) -> (texts('walltime.sample.component')[at], texts('walltime.sample.line')[at],
            texts('walltime.sample.function')[at], texts('walltime.sample.library')[at],
            texts('walltime.sample.state')[at], texts('walltime.sample.stack')[at], greatest(count, 0),
            greatest(int_arrays[indexOf(keys, 'walltime.sample.time_ns')][at], 0)),
        int_arrays[indexOf(keys, 'walltime.sample.count')] AS sample_counts, arrayEnumerate(sample_counts)) AS sample,
    mapApply((key, value) -> (key, toUInt64OrZero(value)),
        mapFilter((key, value) -> match(key, '^walltime\\..+\\.(hits|misses|skipped)$'), attributes)) AS more_counters,
    if(is_crowded_out, mapConcat(attributes, map('walltime.name', full_name)), attributes) AS attributes,
    resource
FROM
(
    SELECT
        * EXCEPT name, name AS full_name,
        arrayMap(int -> toUInt64(greatest(int, 0)), ints) AS counts, mapFromArrays(keys, counts) AS by_key,
        (today(), service, '_OTHER') IN crowded_names
            AND (today(), service, name) NOT IN crowded_names AS is_crowded_out
    FROM {otlp_spans}
    WHERE is_transaction AND has_ids
);

CREATE MATERIALIZED VIEW IF NOT EXISTS store_spans{on_cluster} TO spans{local} AS
SELECT
    trace_id, span_id, parent_span_id, started_at, duration_ns, service, name, kind, host, instance, version,
    environment,
    status, status_message,
    strings[indexOf(keys, 'walltime.component')] AS component,
    if(has(keys, 'walltime.own_ns'), duration_ns - least(greatest(ints[indexOf(keys, 'walltime.own_ns')], 0),
            duration_ns), 0) AS nested_ns,
    trace_state, scope_name, scope_version, attributes, resource,
    `events.at`, `events.name`, `events.attributes`,
    `links.trace_id`, `links.span_id`, `links.trace_state`, `links.attributes`
FROM {otlp_spans}
WHERE NOT is_transaction AND has_ids;

CREATE MATERIALIZED VIEW IF NOT EXISTS count_irregular{on_cluster} TO irregular_spans{local} AS
SELECT
    toDateTime(intDiv(received_at_ns, 60000000000) * 60, 'UTC') AS minute,
    arrayJoin(arrayFilter(reason -> reason != '', [
        if(has_ids, '', 'bad_ids'),
        if(has_recent_start OR NOT has_ids, '', 'clamped_start'),
        if(has_plausible_times OR NOT has_ids, '', 'implausible_times'),
        if(has_all_attributes OR NOT has_ids, '', 'attributes_dropped')])) AS reason,
    count() AS spans
FROM {otlp_spans}
WHERE NOT has_ids OR NOT has_recent_start OR NOT has_plausible_times OR NOT has_all_attributes
GROUP BY minute, reason
