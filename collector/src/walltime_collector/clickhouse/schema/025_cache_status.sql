-- A row is a second of a memcached, Redis or Valkey server. Counters are what was added since the row before, in
-- `over_ns`.
CREATE TABLE IF NOT EXISTS cache_status{local}{on_cluster}
(
    at DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    server LowCardinality(String),
    system LowCardinality(String),
    version LowCardinality(String),
    over_ns UInt64,
    uptime_s UInt64 CODEC(Delta, ZSTD(1)),
    items UInt64,
    bytes UInt64,
    max_bytes UInt64,
    hits UInt64,
    misses UInt64,
    evictions UInt64,
    expired UInt64,
    reclaimed UInt64,
    commands UInt64,
    connections UInt32,
    max_connections UInt32,
    refused_connections UInt64,
    is_saving Bool,
    others Map(LowCardinality(String), Float64)
)
ENGINE = {replicated}MergeTree{keeper_path}
PARTITION BY toDate(at)
ORDER BY (server, at)
TTL toDateTime(at) + INTERVAL 30 DAY
SETTINGS {deduplication}, ttl_only_drop_parts = 1;

{cluster_only} CREATE TABLE IF NOT EXISTS cache_status{on_cluster} AS cache_status_local
ENGINE = Distributed({cluster}, {database}, 'cache_status_local', 0);

ALTER TABLE cache_status{on_cluster}
    MODIFY COMMENT 'A row is a second of a memcached, Redis or Valkey server, as it says itself.',
    COMMENT COLUMN IF EXISTS server 'its address as the applications know it: target.address',
    COMMENT COLUMN IF EXISTS over_ns 'the counters of the row are of this time',
    COMMENT COLUMN IF EXISTS evictions 'items removed for lack of memory before they expired',
    COMMENT COLUMN IF EXISTS reclaimed 'memory of expired items that was used again'
