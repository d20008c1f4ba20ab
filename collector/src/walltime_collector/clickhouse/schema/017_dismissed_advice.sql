-- Advice that somebody dismissed. A row is a decision; the last one of an id counts. `until` in the past restores it.
CREATE TABLE IF NOT EXISTS dismissed_advice{local}{on_cluster}
(
    id String,
    decided_at DateTime64(3, 'UTC'),
    until DateTime('UTC'),
    why String,
    change String -- what the advice said
)
ENGINE = {replicated}MergeTree{keeper_path}
ORDER BY (id, decided_at)
TTL until + INTERVAL 30 DAY
SETTINGS {deduplication};

{cluster_only} CREATE TABLE IF NOT EXISTS dismissed_advice{on_cluster} AS dismissed_advice_local
ENGINE = Distributed({cluster}, {database}, 'dismissed_advice_local', 0);

ALTER TABLE dismissed_advice{on_cluster}
    MODIFY COMMENT 'Decisions about advice: walltime advise --dismiss and --restore. The last row of an id counts.',
    COMMENT COLUMN IF EXISTS id 'of the advice',
    COMMENT COLUMN IF EXISTS until 'it is not shown before; in the past: restored',
    COMMENT COLUMN IF EXISTS why 'as it was given',
    COMMENT COLUMN IF EXISTS change 'what the advice said'
