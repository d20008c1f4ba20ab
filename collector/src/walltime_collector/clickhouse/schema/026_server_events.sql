-- A row is an event of a database or a cache: a restart, an eviction storm, a deadlock, a changed plan. One that lasts
-- is written again when it is over. Query with FINAL.
CREATE TABLE IF NOT EXISTS server_events{local}{on_cluster}
(
    at DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    until DateTime64(3, 'UTC'),
    server LowCardinality(String),
    system LowCardinality(String),
    event LowCardinality(String),
    what String,
    number Float64,
    details Map(LowCardinality(String), String)
)
ENGINE = {replicated}ReplacingMergeTree{keeper_path}
ORDER BY (server, event, at)
TTL toDateTime(at) + INTERVAL 400 DAY
SETTINGS {deduplication};

{cluster_only} CREATE TABLE IF NOT EXISTS server_events{on_cluster} AS server_events_local
ENGINE = Distributed({cluster}, {database}, 'server_events_local', 0);

ALTER TABLE server_events{on_cluster}
    MODIFY COMMENT 'A row is an event of a database or a cache, as a restart. Query with FINAL.',
    COMMENT COLUMN IF EXISTS at 'when it happened or began, UTC',
    COMMENT COLUMN IF EXISTS until 'when it ended; as `at` where it took no time',
    COMMENT COLUMN IF EXISTS server 'its address as the applications know it: target.address',
    COMMENT COLUMN IF EXISTS event 'restarted, replaced, evicting, connection_limit, saving, failover, deadlock, plan_changed, lost',
    COMMENT COLUMN IF EXISTS what 'a sentence'
