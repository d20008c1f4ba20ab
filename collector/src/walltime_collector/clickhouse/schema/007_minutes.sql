-- Sums per minute for dashboards over weeks; they are kept longer than the transactions.
--
--   transactions ──┬─ count_transactions ─► transactions_1m   a minute of one kind
--                  ├─ count_targets ──────► targets_1m        … of one component on one server
--                  └─ count_statements ───► statements_1m     … of one statement template
--
-- ClickHouse adds up the rows of a minute when it merges parts, so query with sum, max, quantilesTDigestMerge and GROUP
-- BY.
CREATE TABLE IF NOT EXISTS transactions_1m{local}{on_cluster}
(
    minute DateTime('UTC') CODEC(Delta, ZSTD(1)),
    service LowCardinality(String),
    name LowCardinality(String),
    version LowCardinality(String), -- see 028
    transactions SimpleAggregateFunction(sum, UInt64),
    errors SimpleAggregateFunction(sum, UInt64),
    duration_ns SimpleAggregateFunction(sum, UInt64),
    max_ns SimpleAggregateFunction(max, UInt64),
    percentiles_ns AggregateFunction(quantilesTDigest(0.5, 0.95, 0.99), UInt64),
    other_ns SimpleAggregateFunction(sum, UInt64),
    cpu_ns SimpleAggregateFunction(sum, UInt64), -- of the cpu_known transactions only
    cpu_known SimpleAggregateFunction(sum, UInt64),
    cpu_wait_ns SimpleAggregateFunction(sum, UInt64), -- see 020
    cpu_wait_known SimpleAggregateFunction(sum, UInt64),
    loop_wait_ns SimpleAggregateFunction(sum, UInt64),
    loop_wait_known SimpleAggregateFunction(sum, UInt64),
    queue_ns SimpleAggregateFunction(sum, UInt64),
    queue_known SimpleAggregateFunction(sum, UInt64),
    mysql_connect_calls SimpleAggregateFunction(sum, UInt64),
    mysql_connect_time_ns SimpleAggregateFunction(sum, UInt64),
    mysql_connect_errors SimpleAggregateFunction(sum, UInt64), mysql_query_calls SimpleAggregateFunction(sum, UInt64),
    mysql_query_time_ns SimpleAggregateFunction(sum, UInt64), mysql_query_errors SimpleAggregateFunction(sum, UInt64),
    mysql_query_rows SimpleAggregateFunction(sum, UInt64), mysql_query_deadlocks SimpleAggregateFunction(sum, UInt64),
    mysql_query_lock_timeouts SimpleAggregateFunction(sum, UInt64),
    mysql_fetch_calls SimpleAggregateFunction(sum, UInt64),
    mysql_fetch_time_ns SimpleAggregateFunction(sum, UInt64), mysql_fetch_errors SimpleAggregateFunction(sum, UInt64),
    mysql_fetch_rows SimpleAggregateFunction(sum, UInt64), mysql_commit_calls SimpleAggregateFunction(sum, UInt64),
    mysql_commit_time_ns SimpleAggregateFunction(sum, UInt64), mysql_commit_errors SimpleAggregateFunction(sum, UInt64),
    memcache_connect_calls SimpleAggregateFunction(sum, UInt64),
    memcache_connect_time_ns SimpleAggregateFunction(sum, UInt64),
    memcache_connect_errors SimpleAggregateFunction(sum, UInt64),
    memcache_get_calls SimpleAggregateFunction(sum, UInt64),
    memcache_get_time_ns SimpleAggregateFunction(sum, UInt64), memcache_get_errors SimpleAggregateFunction(sum, UInt64),
    memcache_get_hits SimpleAggregateFunction(sum, UInt64), memcache_get_misses SimpleAggregateFunction(sum, UInt64),
    memcache_set_calls SimpleAggregateFunction(sum, UInt64), memcache_set_time_ns SimpleAggregateFunction(sum, UInt64),
    memcache_set_errors SimpleAggregateFunction(sum, UInt64),
    memcache_set_not_stored SimpleAggregateFunction(sum, UInt64),
    memcache_delete_calls SimpleAggregateFunction(sum, UInt64),
    memcache_delete_time_ns SimpleAggregateFunction(sum, UInt64),
    memcache_delete_errors SimpleAggregateFunction(sum, UInt64),
    memcache_delete_hits SimpleAggregateFunction(sum, UInt64),
    memcache_delete_misses SimpleAggregateFunction(sum, UInt64),
    memcache_incr_calls SimpleAggregateFunction(sum, UInt64),
    memcache_incr_time_ns SimpleAggregateFunction(sum, UInt64),
    memcache_incr_errors SimpleAggregateFunction(sum, UInt64),
    memcache_incr_hits SimpleAggregateFunction(sum, UInt64), memcache_incr_misses SimpleAggregateFunction(sum, UInt64),
    http_connect_calls SimpleAggregateFunction(sum, UInt64), http_connect_time_ns SimpleAggregateFunction(sum, UInt64),
    http_connect_errors SimpleAggregateFunction(sum, UInt64), http_request_calls SimpleAggregateFunction(sum, UInt64),
    http_request_time_ns SimpleAggregateFunction(sum, UInt64), http_request_errors SimpleAggregateFunction(sum, UInt64),
    custom_calls SimpleAggregateFunction(sumMap, Map(String, UInt64)),
    custom_time_ns SimpleAggregateFunction(sumMap, Map(String, UInt64)),
    custom_errors SimpleAggregateFunction(sumMap, Map(String, UInt64)),
    more_counters SimpleAggregateFunction(sumMap, Map(String,
            UInt64)) -- hits, misses and skipped without columns of their own
)
ENGINE = {replicated}AggregatingMergeTree{keeper_path}
PARTITION BY toYYYYMM(minute)
PRIMARY KEY (service, name, minute)
ORDER BY (service, name, minute, version)
TTL minute + INTERVAL 400 DAY
SETTINGS {deduplication}, ttl_only_drop_parts = 1, default_compression_codec = 'ZSTD(1)';

{cluster_only} CREATE TABLE IF NOT EXISTS transactions_1m{on_cluster} AS transactions_1m_local
ENGINE = Distributed({cluster}, {database}, 'transactions_1m_local', 0);

CREATE TABLE IF NOT EXISTS targets_1m{local}{on_cluster}
(
    minute DateTime('UTC') CODEC(Delta, ZSTD(1)),
    service LowCardinality(String),
    name LowCardinality(String),
    component LowCardinality(String),
    address LowCardinality(String),
    transactions UInt64, -- that called the component
    calls UInt64,
    time_ns UInt64,
    errors UInt64,
    hits UInt64,
    misses UInt64
)
ENGINE = {replicated}SummingMergeTree{keeper_path}
PARTITION BY toYYYYMM(minute)
ORDER BY (component, address, service, name, minute)
TTL minute + INTERVAL 400 DAY
SETTINGS {deduplication}, ttl_only_drop_parts = 1, default_compression_codec = 'ZSTD(1)';

{cluster_only} CREATE TABLE IF NOT EXISTS targets_1m{on_cluster} AS targets_1m_local
ENGINE = Distributed({cluster}, {database}, 'targets_1m_local', 0);

CREATE TABLE IF NOT EXISTS statements_1m{local}{on_cluster}
(
    minute DateTime('UTC') CODEC(Delta, ZSTD(1)),
    service LowCardinality(String),
    name LowCardinality(String),
    version LowCardinality(String),
    text String,
    transactions UInt64, -- that sent it; more calls than transactions are repetitions
    calls UInt64,
    time_ns UInt64,
    errors UInt64
)
ENGINE = {replicated}SummingMergeTree{keeper_path}
PARTITION BY toYYYYMM(minute)
PRIMARY KEY (service, name, text, minute)
ORDER BY (service, name, text, minute, version)
TTL minute + INTERVAL 400 DAY
SETTINGS {deduplication}, ttl_only_drop_parts = 1, default_compression_codec = 'ZSTD(1)';

{cluster_only} CREATE TABLE IF NOT EXISTS statements_1m{on_cluster} AS statements_1m_local
ENGINE = Distributed({cluster}, {database}, 'statements_1m_local', 0);

CREATE MATERIALIZED VIEW IF NOT EXISTS count_transactions{on_cluster} TO transactions_1m{local} AS
SELECT
    toStartOfMinute(started_at) AS minute, service, name, version,
    count() AS transactions,
    countIf(t.is_error) AS errors,
    sum(t.duration_ns) AS duration_ns,
    max(t.duration_ns) AS max_ns,
    quantilesTDigestState(0.5, 0.95, 0.99)(t.duration_ns) AS percentiles_ns,
    sum(t.duration_ns - least(t.covered_ns, t.duration_ns)) AS other_ns,
    ifNull(sum(t.cpu_user_ns + t.cpu_system_ns), 0) AS cpu_ns,
    count(t.cpu_user_ns + t.cpu_system_ns) AS cpu_known,
    ifNull(sum(t.cpu_wait_ns), 0) AS cpu_wait_ns,
    count(t.cpu_wait_ns) AS cpu_wait_known,
    ifNull(sum(t.loop_wait_ns), 0) AS loop_wait_ns,
    count(t.loop_wait_ns) AS loop_wait_known,
    ifNull(sum(t.queue_ns), 0) AS queue_ns,
    count(t.queue_ns) AS queue_known,
    sum(t.mysql_connect_calls) AS mysql_connect_calls, sum(t.mysql_connect_time_ns) AS mysql_connect_time_ns,
    sum(t.mysql_connect_errors) AS mysql_connect_errors, sum(t.mysql_query_calls) AS mysql_query_calls,
    sum(t.mysql_query_time_ns) AS mysql_query_time_ns, sum(t.mysql_query_errors) AS mysql_query_errors,
    sum(t.mysql_query_rows) AS mysql_query_rows, sum(t.mysql_query_deadlocks) AS mysql_query_deadlocks,
    sum(t.mysql_query_lock_timeouts) AS mysql_query_lock_timeouts, sum(t.mysql_fetch_calls) AS mysql_fetch_calls,
    sum(t.mysql_fetch_time_ns) AS mysql_fetch_time_ns, sum(t.mysql_fetch_errors) AS mysql_fetch_errors,
    sum(t.mysql_fetch_rows) AS mysql_fetch_rows, sum(t.mysql_commit_calls) AS mysql_commit_calls,
    sum(t.mysql_commit_time_ns) AS mysql_commit_time_ns, sum(t.mysql_commit_errors) AS mysql_commit_errors,
    sum(t.memcache_connect_calls) AS memcache_connect_calls,
    sum(t.memcache_connect_time_ns) AS memcache_connect_time_ns,
    sum(t.memcache_connect_errors) AS memcache_connect_errors, sum(t.memcache_get_calls) AS memcache_get_calls,
    sum(t.memcache_get_time_ns) AS memcache_get_time_ns, sum(t.memcache_get_errors) AS memcache_get_errors,
    sum(t.memcache_get_hits) AS memcache_get_hits, sum(t.memcache_get_misses) AS memcache_get_misses,
    sum(t.memcache_set_calls) AS memcache_set_calls, sum(t.memcache_set_time_ns) AS memcache_set_time_ns,
    sum(t.memcache_set_errors) AS memcache_set_errors, sum(t.memcache_set_not_stored) AS memcache_set_not_stored,
    sum(t.memcache_delete_calls) AS memcache_delete_calls, sum(t.memcache_delete_time_ns) AS memcache_delete_time_ns,
    sum(t.memcache_delete_errors) AS memcache_delete_errors, sum(t.memcache_delete_hits) AS memcache_delete_hits,
    sum(t.memcache_delete_misses) AS memcache_delete_misses, sum(t.memcache_incr_calls) AS memcache_incr_calls,
    sum(t.memcache_incr_time_ns) AS memcache_incr_time_ns, sum(t.memcache_incr_errors) AS memcache_incr_errors,
    sum(t.memcache_incr_hits) AS memcache_incr_hits, sum(t.memcache_incr_misses) AS memcache_incr_misses,
    sum(t.http_connect_calls) AS http_connect_calls, sum(t.http_connect_time_ns) AS http_connect_time_ns,
    sum(t.http_connect_errors) AS http_connect_errors, sum(t.http_request_calls) AS http_request_calls,
    sum(t.http_request_time_ns) AS http_request_time_ns, sum(t.http_request_errors) AS http_request_errors,
    sumMap(t.custom_calls) AS custom_calls,
    sumMap(t.custom_time_ns) AS custom_time_ns,
    sumMap(t.custom_errors) AS custom_errors,
    sumMap(t.more_counters) AS more_counters
FROM transactions{local} AS t
GROUP BY minute, service, name, version;

CREATE MATERIALIZED VIEW IF NOT EXISTS count_targets{on_cluster} TO targets_1m{local} AS
SELECT
    toStartOfMinute(started_at) AS minute, service, name, target.component AS component, target.address AS address,
    count() AS transactions, sum(target.calls) AS calls, sum(target.time_ns) AS time_ns,
    sum(target.errors) AS errors, sum(target.hits) AS hits, sum(target.misses) AS misses
FROM {transactions}
ARRAY JOIN target
GROUP BY minute, service, name, component, address;

CREATE MATERIALIZED VIEW IF NOT EXISTS count_statements{on_cluster} TO statements_1m{local} AS
SELECT
    toStartOfMinute(started_at) AS minute, service, name, version, statement.text AS text,
    count() AS transactions, sum(statement.calls) AS calls, sum(statement.time_ns) AS time_ns,
    sum(statement.errors) AS errors
FROM {transactions}
ARRAY JOIN statement
GROUP BY minute, service, name, version, text
