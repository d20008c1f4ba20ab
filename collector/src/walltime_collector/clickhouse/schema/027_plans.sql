-- A row is a plan of a statement: its shape without values. It is written again when the plan is seen again; rows of one
-- plan add up. Query with min(first_seen), max(last_seen), GROUP BY.
CREATE TABLE IF NOT EXISTS plans{local}{on_cluster}
(
    fingerprint_id UInt64,
    server LowCardinality(String),
    database LowCardinality(String),
    plan_id UInt64,
    first_seen SimpleAggregateFunction(min, DateTime64(3, 'UTC')),
    last_seen SimpleAggregateFunction(max, DateTime64(3, 'UTC')),
    fingerprint SimpleAggregateFunction(any, String),
    shape SimpleAggregateFunction(any, String),
    summary SimpleAggregateFunction(any, String)
)
ENGINE = {replicated}AggregatingMergeTree{keeper_path}
ORDER BY (fingerprint_id, server, database, plan_id)
TTL toDateTime(last_seen) + INTERVAL 400 DAY
SETTINGS {deduplication};

{cluster_only} CREATE TABLE IF NOT EXISTS plans{on_cluster} AS plans_local
ENGINE = Distributed({cluster}, {database}, 'plans_local', fingerprint_id);

ALTER TABLE plans{on_cluster}
    MODIFY COMMENT 'A row is a plan that a database chose for a statement. Add up rows: min(first_seen), max(last_seen), GROUP BY.',
    COMMENT COLUMN IF EXISTS plan_id 'of the tables, their order, and how each is read',
    COMMENT COLUMN IF EXISTS shape 'JSON: a step does something (lookup, range, full scan, sort …) to a table, or to its steps',
    COMMENT COLUMN IF EXISTS summary 'one line: how each table is read'
