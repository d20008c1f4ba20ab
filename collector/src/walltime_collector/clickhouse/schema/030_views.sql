-- Views for people, dashboards and reports: rows and columns in the words of the product, times in nanoseconds. They store
-- nothing. docs/cookbook.md has questions for each.
--
--   view                    a row is                                  made from
--   kinds_by_minute         (a part of) a minute of a kind            transactions_1m
--   kinds_each              a transaction, with the same columns      transactions
--   components_by_minute    … of a component of a kind                transactions_1m
--   components_each         a component of a transaction              transactions
--   servers_by_minute       … of a component on one server            targets_1m
--   servers_each            … on one server                           transactions
--   statements_by_minute    … of a statement                          statements_1m
--   statements_each         a statement of a transaction              transactions
--   families                a family of components, with its colour   nothing
--
-- Rows of a minute are partial sums: add them up with sum, max, quantilesTDigestMerge and GROUP BY. A query that takes few
-- columns reads few: what a view computes and nobody asks for is not read.
CREATE VIEW IF NOT EXISTS kinds_by_minute{on_cluster} AS
SELECT
    minute, service, name AS kind, version,
    transactions, errors, status_4xx, status_5xx, duration_ns, max_ns, percentiles_ns,
    mysql_connect_time_ns + mysql_query_time_ns + mysql_fetch_time_ns + mysql_commit_time_ns
        + arraySum(mapValues(mapExtractKeyLike(custom_time_ns, 'mysql.%'))) AS mysql_ns,
    memcache_connect_time_ns + memcache_get_time_ns + memcache_set_time_ns + memcache_delete_time_ns + memcache_incr_time_ns
        + arraySum(mapValues(mapExtractKeyLike(custom_time_ns, 'memcache.%'))) AS memcache_ns,
    arraySum(mapValues(mapExtractKeyLike(custom_time_ns, 'redis.%'))) AS redis_ns,
    http_connect_time_ns + http_request_time_ns
        + arraySum(mapValues(mapExtractKeyLike(custom_time_ns, 'http.%'))) AS http_ns,
    arraySum(mapValues(mapExtractKeyLike(custom_time_ns, 'python.%'))) AS python_ns,
    arraySum((component, ns) -> if({family} = 'framework', ns, 0), mapKeys(custom_time_ns),
        mapValues(custom_time_ns)) AS framework_ns,
    arraySum((component, ns) -> if({family} = 'application', ns, 0), mapKeys(custom_time_ns),
        mapValues(custom_time_ns)) AS application_ns,
    custom_time_ns['view'] + custom_time_ns['middleware'] AS view_ns,
    other_ns,
    cpu_ns, cpu_known, cpu_wait_ns, cpu_wait_known, loop_wait_ns, loop_wait_known, queue_ns, queue_known,
    mysql_query_calls AS queries,
    memcache_get_hits + arraySum(mapValues(mapExtractKeyLike(more_counters, '%.hits'))) AS cache_hits,
    memcache_get_misses + arraySum(mapValues(mapExtractKeyLike(more_counters, '%.misses'))) AS cache_misses
FROM transactions_1m;

CREATE VIEW IF NOT EXISTS kinds_each{on_cluster} AS
SELECT
    started_at, trace_id, lower(hex(trace_id)) AS trace, service, name AS kind, version, host, instance, environment, user,
    method, http_status, is_error, error_type, kept, attributes,
    toUInt64(1) AS transactions, toUInt64(is_error) AS errors,
    toUInt64(intDiv(http_status, 100) = 4) AS status_4xx, toUInt64(intDiv(http_status, 100) = 5) AS status_5xx,
    duration_ns, duration_ns AS max_ns,
    mysql_connect_time_ns + mysql_query_time_ns + mysql_fetch_time_ns + mysql_commit_time_ns
        + arraySum(mapValues(mapExtractKeyLike(custom_time_ns, 'mysql.%'))) AS mysql_ns,
    memcache_connect_time_ns + memcache_get_time_ns + memcache_set_time_ns + memcache_delete_time_ns + memcache_incr_time_ns
        + arraySum(mapValues(mapExtractKeyLike(custom_time_ns, 'memcache.%'))) AS memcache_ns,
    arraySum(mapValues(mapExtractKeyLike(custom_time_ns, 'redis.%'))) AS redis_ns,
    http_connect_time_ns + http_request_time_ns
        + arraySum(mapValues(mapExtractKeyLike(custom_time_ns, 'http.%'))) AS http_ns,
    arraySum(mapValues(mapExtractKeyLike(custom_time_ns, 'python.%'))) AS python_ns,
    arraySum((component, ns) -> if({family} = 'framework', ns, 0), mapKeys(custom_time_ns),
        mapValues(custom_time_ns)) AS framework_ns,
    arraySum((component, ns) -> if({family} = 'application', ns, 0), mapKeys(custom_time_ns),
        mapValues(custom_time_ns)) AS application_ns,
    custom_time_ns['view'] + custom_time_ns['middleware'] AS view_ns,
    other_ns,
    ifNull(cpu_user_ns + cpu_system_ns, 0) AS cpu_ns, toUInt64(isNotNull(cpu_user_ns + cpu_system_ns)) AS cpu_known,
    ifNull(t.cpu_wait_ns, 0) AS cpu_wait_ns, toUInt64(isNotNull(t.cpu_wait_ns)) AS cpu_wait_known,
    ifNull(t.loop_wait_ns, 0) AS loop_wait_ns, toUInt64(isNotNull(t.loop_wait_ns)) AS loop_wait_known,
    ifNull(t.queue_ns, 0) AS queue_ns, toUInt64(isNotNull(t.queue_ns)) AS queue_known,
    toUInt64(mysql_query_calls) AS queries,
    memcache_get_hits + arraySum(mapValues(mapExtractKeyLike(more_counters, '%.hits'))) AS cache_hits,
    memcache_get_misses + arraySum(mapValues(mapExtractKeyLike(more_counters, '%.misses'))) AS cache_misses
FROM transactions AS t;

CREATE VIEW IF NOT EXISTS components_by_minute{on_cluster} AS
SELECT
    minute, service, name AS kind, version,
    if(component = 'other', t.transactions, 0) AS transactions,
    component,
    {family} AS family,
    indexOf(['mysql', 'memcache', 'redis', 'http', 'python', 'framework', 'application', 'view', 'other'], family) AS position,
    calls, time_ns, errors, hits, misses
FROM transactions_1m AS t
ARRAY JOIN
    arrayConcat([
        'mysql.connect', 'mysql.query', 'mysql.fetch', 'mysql.commit', 'memcache.connect', 'memcache.get',
        'memcache.set', 'memcache.delete', 'memcache.incr', 'http.connect', 'http.request', 'other'],
        mapKeys(custom_time_ns)) AS component,
    arrayConcat([
        mysql_connect_calls, mysql_query_calls, mysql_fetch_calls, mysql_commit_calls, memcache_connect_calls,
        memcache_get_calls, memcache_set_calls, memcache_delete_calls, memcache_incr_calls, http_connect_calls,
        http_request_calls, 0],
        arrayMap(each -> custom_calls[each], mapKeys(custom_time_ns))) AS calls,
    arrayConcat([
        mysql_connect_time_ns, mysql_query_time_ns, mysql_fetch_time_ns, mysql_commit_time_ns,
        memcache_connect_time_ns, memcache_get_time_ns, memcache_set_time_ns, memcache_delete_time_ns,
        memcache_incr_time_ns, http_connect_time_ns, http_request_time_ns, other_ns],
        mapValues(custom_time_ns)) AS time_ns,
    arrayConcat([
        mysql_connect_errors, mysql_query_errors, mysql_fetch_errors, mysql_commit_errors, memcache_connect_errors,
        memcache_get_errors, memcache_set_errors, memcache_delete_errors, memcache_incr_errors, http_connect_errors,
        http_request_errors, 0],
        arrayMap(each -> custom_errors[each], mapKeys(custom_time_ns))) AS errors,
    arrayConcat([
        0, 0, 0, 0, 0, memcache_get_hits, 0, memcache_delete_hits, memcache_incr_hits, 0, 0, 0],
        arrayMap(each -> more_counters[concat('walltime.', each, '.hits')], mapKeys(custom_time_ns))) AS hits,
    arrayConcat([
        0, 0, 0, 0, 0, memcache_get_misses, 0, memcache_delete_misses, memcache_incr_misses, 0, 0, 0],
        arrayMap(each -> more_counters[concat('walltime.', each, '.misses')], mapKeys(custom_time_ns))) AS misses
WHERE calls > 0 OR time_ns > 0 OR component = 'other';

CREATE VIEW IF NOT EXISTS components_each{on_cluster} AS
SELECT
    started_at, trace_id, service, name AS kind, version, host, environment, attributes,
    toUInt64(component = 'other') AS transactions,
    component,
    {family} AS family,
    indexOf(['mysql', 'memcache', 'redis', 'http', 'python', 'framework', 'application', 'view', 'other'], family) AS position,
    calls, time_ns, max_ns, errors, hits, misses
FROM transactions
ARRAY JOIN
    arrayConcat([
        'mysql.connect', 'mysql.query', 'mysql.fetch', 'mysql.commit', 'memcache.connect', 'memcache.get',
        'memcache.set', 'memcache.delete', 'memcache.incr', 'http.connect', 'http.request', 'other'],
        mapKeys(custom_time_ns)) AS component,
    arrayConcat([
        mysql_connect_calls, mysql_query_calls, mysql_fetch_calls, mysql_commit_calls, memcache_connect_calls,
        memcache_get_calls, memcache_set_calls, memcache_delete_calls, memcache_incr_calls, http_connect_calls,
        http_request_calls, 0],
        arrayMap(each -> custom_calls[each], mapKeys(custom_time_ns))) AS calls,
    arrayConcat([
        mysql_connect_time_ns, mysql_query_time_ns, mysql_fetch_time_ns, mysql_commit_time_ns,
        memcache_connect_time_ns, memcache_get_time_ns, memcache_set_time_ns, memcache_delete_time_ns,
        memcache_incr_time_ns, http_connect_time_ns, http_request_time_ns, other_ns],
        mapValues(custom_time_ns)) AS time_ns,
    arrayConcat([
        mysql_connect_max_ns, mysql_query_max_ns, mysql_fetch_max_ns, mysql_commit_max_ns, memcache_connect_max_ns,
        memcache_get_max_ns, memcache_set_max_ns, memcache_delete_max_ns, memcache_incr_max_ns, http_connect_max_ns,
        http_request_max_ns, 0],
        arrayMap(each -> custom_max_ns[each], mapKeys(custom_time_ns))) AS max_ns,
    arrayConcat([
        mysql_connect_errors, mysql_query_errors, mysql_fetch_errors, mysql_commit_errors, memcache_connect_errors,
        memcache_get_errors, memcache_set_errors, memcache_delete_errors, memcache_incr_errors, http_connect_errors,
        http_request_errors, 0],
        arrayMap(each -> custom_errors[each], mapKeys(custom_time_ns))) AS errors,
    arrayConcat([
        0, 0, 0, 0, 0, memcache_get_hits, 0, memcache_delete_hits, memcache_incr_hits, 0, 0, 0],
        arrayMap(each -> more_counters[concat('walltime.', each, '.hits')], mapKeys(custom_time_ns))) AS hits,
    arrayConcat([
        0, 0, 0, 0, 0, memcache_get_misses, 0, memcache_delete_misses, memcache_incr_misses, 0, 0, 0],
        arrayMap(each -> more_counters[concat('walltime.', each, '.misses')], mapKeys(custom_time_ns))) AS misses
WHERE calls > 0 OR time_ns > 0 OR component = 'other';

CREATE VIEW IF NOT EXISTS servers_by_minute{on_cluster} AS
SELECT
    minute, service, name AS kind, component, {family} AS family, address AS server,
    transactions, calls, time_ns, errors, hits, misses
FROM targets_1m;

CREATE VIEW IF NOT EXISTS servers_each{on_cluster} AS
SELECT
    started_at, trace_id, service, name AS kind, version, host, environment, attributes,
    component, {family} AS family, server, calls, time_ns, errors, hits, misses
FROM transactions
ARRAY JOIN
    target.component AS component, target.address AS server, target.calls AS calls, target.time_ns AS time_ns,
    target.errors AS errors, target.hits AS hits, target.misses AS misses;

CREATE VIEW IF NOT EXISTS statements_by_minute{on_cluster} AS
SELECT minute, service, name AS kind, version, text AS statement, transactions, calls, time_ns, errors
FROM statements_1m;

CREATE VIEW IF NOT EXISTS statements_each{on_cluster} AS
SELECT
    started_at, trace_id, service, name AS kind, version, host, environment, attributes,
    statement, calls, time_ns, errors
FROM transactions
ARRAY JOIN
    statement.text AS statement, statement.calls AS calls, statement.time_ns AS time_ns, statement.errors AS errors;

CREATE VIEW IF NOT EXISTS families{on_cluster} AS
SELECT family, position, colour, meaning
FROM values(
    'family String, position UInt8, colour String, meaning String',
    ('mysql', 1, '#e8863a', 'MySQL and MariaDB'),
    ('memcache', 2, '#3fae4a', 'memcached'),
    ('redis', 3, '#d6c22e', 'Redis'),
    ('http', 4, '#4a90e2', 'HTTP requests to other services'),
    ('python', 5, '#b066d9', 'the interpreter: garbage collection, imports'),
    ('framework', 6, '#c2347a', 'framework: templates, ORM, …'),
    ('application', 7, '#2bb3c0', 'the application''s own'),
    ('view', 8, '#a1887f', 'view, middleware: in no component inside'),
    ('other', 9, '#6e7681', 'other: in no measured call'));

ALTER TABLE kinds_by_minute{on_cluster}
    MODIFY COMMENT 'A row is a minute of one kind and version, or a part of one. Add up rows: sum, max, quantilesTDigestMerge, GROUP BY.',
    COMMENT COLUMN IF EXISTS minute 'its beginning, UTC',
    COMMENT COLUMN IF EXISTS kind 'name of the transaction, as GET /search',
    COMMENT COLUMN IF EXISTS version 'of the service; empty when it reports none, and in rows of earlier collectors',
    COMMENT COLUMN IF EXISTS transactions 'how many',
    COMMENT COLUMN IF EXISTS errors 'how many failed',
    COMMENT COLUMN IF EXISTS duration_ns 'sum',
    COMMENT COLUMN IF EXISTS max_ns 'the longest',
    COMMENT COLUMN IF EXISTS percentiles_ns 'quantilesTDigestMerge(0.5, 0.95, 0.99)(percentiles_ns)',
    COMMENT COLUMN IF EXISTS mysql_ns 'in the components of this family, as the next ones; view families explains them',
    COMMENT COLUMN IF EXISTS application_ns 'in components that the application named itself',
    COMMENT COLUMN IF EXISTS view_ns 'in view and middleware, and in no component inside',
    COMMENT COLUMN IF EXISTS other_ns 'in no component',
    COMMENT COLUMN IF EXISTS cpu_ns 'of the cpu_known transactions only; so are the next pairs',
    COMMENT COLUMN IF EXISTS queries 'calls of mysql.query',
    COMMENT COLUMN IF EXISTS cache_hits 'of memcached, Redis and other caches';

ALTER TABLE kinds_each{on_cluster}
    MODIFY COMMENT 'A row is a transaction, with the columns of kinds_by_minute and those that identify it.',
    COMMENT COLUMN IF EXISTS started_at 'UTC; compare it with a DateTime64, as now64() - INTERVAL 1 HOUR, to read less',
    COMMENT COLUMN IF EXISTS trace_id 'find one with trace_id = unhex(''…''), which has an index',
    COMMENT COLUMN IF EXISTS trace 'the trace id as text',
    COMMENT COLUMN IF EXISTS transactions '1',
    COMMENT COLUMN IF EXISTS errors '1 if it failed',
    COMMENT COLUMN IF EXISTS attributes 'annotations and others';

ALTER TABLE components_by_minute{on_cluster}
    MODIFY COMMENT 'A row is a minute of one component of one kind and version, or a part of one. Add up rows: sum, GROUP BY.',
    COMMENT COLUMN IF EXISTS transactions 'of the kind, on the rows of other and 0 on the rest: a sum over components counts each once',
    COMMENT COLUMN IF EXISTS component 'as mysql.query; other is time in no component',
    COMMENT COLUMN IF EXISTS family 'see families',
    COMMENT COLUMN IF EXISTS position 'of the family, for ORDER BY',
    COMMENT COLUMN IF EXISTS time_ns 'without calls of other components inside';

ALTER TABLE components_each{on_cluster}
    MODIFY COMMENT 'A row is a component of one transaction.',
    COMMENT COLUMN IF EXISTS transactions '1 on the row of other, 0 on the rest: a sum over components counts each once',
    COMMENT COLUMN IF EXISTS component 'as mysql.query; other is time in no component',
    COMMENT COLUMN IF EXISTS family 'see families',
    COMMENT COLUMN IF EXISTS position 'of the family, for ORDER BY',
    COMMENT COLUMN IF EXISTS time_ns 'without calls of other components inside',
    COMMENT COLUMN IF EXISTS max_ns 'the longest call';

ALTER TABLE servers_by_minute{on_cluster}
    MODIFY COMMENT 'A row is a minute of one component on one server, for one kind, or a part of one. Add up rows: sum, GROUP BY.',
    COMMENT COLUMN IF EXISTS server 'its address',
    COMMENT COLUMN IF EXISTS transactions 'that called the component there';

ALTER TABLE servers_each{on_cluster}
    MODIFY COMMENT 'A row is a component on one server in one transaction.',
    COMMENT COLUMN IF EXISTS server 'its address';

ALTER TABLE statements_by_minute{on_cluster}
    MODIFY COMMENT 'A row is a minute of one statement of one kind and version, or a part of one. Add up rows: sum, GROUP BY.',
    COMMENT COLUMN IF EXISTS statement 'as the application wrote it, without values',
    COMMENT COLUMN IF EXISTS transactions 'that sent it; more calls than transactions are repetitions',
    COMMENT COLUMN IF EXISTS time_ns 'of the calls, on the client';

ALTER TABLE statements_each{on_cluster}
    MODIFY COMMENT 'A row is a statement of one transaction.',
    COMMENT COLUMN IF EXISTS statement 'as the application wrote it, without values',
    COMMENT COLUMN IF EXISTS time_ns 'of the calls, on the client';

ALTER TABLE families{on_cluster}
    MODIFY COMMENT 'The families of components: their order and their colours, in pages, commands and dashboards.',
    COMMENT COLUMN IF EXISTS position 'in charts and bars, the first one at the bottom or at the left'
