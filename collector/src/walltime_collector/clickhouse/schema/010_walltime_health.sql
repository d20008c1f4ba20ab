-- A row is a minute of one collector's own counters. They count that minute alone, so rows of several collectors and
-- minutes add up; `spooled`, `spool_…`, `is_ok` and `troubles` are values at the time of writing.
--   received = stored + rejected + dead + lost + the growth of `spooled`
-- `dead` is negative in a minute in which dead letters were retried.
CREATE TABLE IF NOT EXISTS walltime_health{local}{on_cluster}
(
    minute DateTime('UTC'),
    collector LowCardinality(String),
    host LowCardinality(String),
    received Int64,
    stored Int64,
    rejected Int64,
    dead Int64,
    lost Int64,
    refused Int64,
    spooled UInt64,
    spool_bytes UInt64,
    spool_oldest_s Float64,
    is_ok Bool,
    troubles Array(LowCardinality(String)),
    others Map(LowCardinality(String), Int64)
)
ENGINE = {replicated}MergeTree{keeper_path}
ORDER BY (collector, minute)
TTL minute + INTERVAL 400 DAY
SETTINGS {deduplication};

{cluster_only} CREATE TABLE IF NOT EXISTS walltime_health{on_cluster} AS walltime_health_local
ENGINE = Distributed({cluster}, {database}, 'walltime_health_local', 0)
