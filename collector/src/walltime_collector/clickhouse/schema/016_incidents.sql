-- A row is a state of an incident: it is written again with each change, and the newest one counts. Query with FINAL:
-- ClickHouse removes the older ones when it merges parts. docs/incidents.md describes the columns.
CREATE TABLE IF NOT EXISTS incidents{local}{on_cluster}
(
    id String,
    started_at DateTime('UTC'),
    opened_at DateTime('UTC'),
    ended_at DateTime('UTC'),
    updated_at DateTime64(3, 'UTC'),
    is_open Bool,
    ended_because LowCardinality(String),
    service LowCardinality(String),
    name LowCardinality(String),
    severity LowCardinality(String),
    headline String,
    sentences Array(String),
    `change.measure` Array(LowCardinality(String)),
    `change.component` Array(LowCardinality(String)),
    `change.address` Array(LowCardinality(String)),
    `change.usual` Array(Float64),
    `change.now` Array(Float64),
    `change.worst` Array(Float64),
    usual_since DateTime('UTC'),
    usual_until DateTime('UTC'),
    collector LowCardinality(String)
)
ENGINE = {replicated}ReplacingMergeTree{keeper_path}
ORDER BY id
TTL started_at + INTERVAL 400 DAY
SETTINGS {deduplication};

{cluster_only} CREATE TABLE IF NOT EXISTS incidents{on_cluster} AS incidents_local
ENGINE = Distributed({cluster}, {database}, 'incidents_local', cityHash64(id));

ALTER TABLE incidents{on_cluster}
    MODIFY COMMENT 'A row is an incident: a kind became slower, failed more or called more than usual. Query with FINAL.',
    COMMENT COLUMN IF EXISTS started_at 'when the first transactions that were not as usual started, UTC',
    COMMENT COLUMN IF EXISTS opened_at 'when the collector noticed it',
    COMMENT COLUMN IF EXISTS ended_at 'while it is open: when it was last seen',
    COMMENT COLUMN IF EXISTS ended_because 'over, silent: the kind has no transactions, lasting: this is the new usual',
    COMMENT COLUMN IF EXISTS severity 'warning or critical; it never becomes less',
    COMMENT COLUMN IF EXISTS `change.measure` 'with the other change.… columns: time, errors, calls, hit_ratio; ARRAY JOIN change',
    COMMENT COLUMN IF EXISTS `change.usual` 'nanoseconds, or a share of 0 to 1, or calls per transaction',
    COMMENT COLUMN IF EXISTS usual_since 'the explanation compares the incident with this time'
