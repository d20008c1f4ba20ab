-- Samples of a transaction's stack, taken where no measured call was in progress: which line of the application it was
-- at, and whether it computed or waited. docs/wire.md describes them.
--
--   transactions ──count_samples──► other_1m   the samples of one stack, for one kind, in a minute
--
-- A sample stands for the time since the look before; n of them have a standard error of their time ÷ √n.
ALTER TABLE transactions{local}{on_cluster}
    ADD COLUMN IF NOT EXISTS sample Array(Tuple(component LowCardinality(String), line LowCardinality(String),
        function LowCardinality(String), library LowCardinality(String), state LowCardinality(String),
        stack LowCardinality(String), count UInt32, time_ns UInt64));

{cluster_only} ALTER TABLE transactions{on_cluster}
    ADD COLUMN IF NOT EXISTS sample Array(Tuple(component LowCardinality(String), line LowCardinality(String),
        function LowCardinality(String), library LowCardinality(String), state LowCardinality(String),
        stack LowCardinality(String), count UInt32, time_ns UInt64));

ALTER TABLE sampled_transactions{local}{on_cluster}
    ADD COLUMN IF NOT EXISTS sample Array(Tuple(component LowCardinality(String), line LowCardinality(String),
        function LowCardinality(String), library LowCardinality(String), state LowCardinality(String),
        stack LowCardinality(String), count UInt32, time_ns UInt64));

{cluster_only} ALTER TABLE sampled_transactions{on_cluster}
    ADD COLUMN IF NOT EXISTS sample Array(Tuple(component LowCardinality(String), line LowCardinality(String),
        function LowCardinality(String), library LowCardinality(String), state LowCardinality(String),
        stack LowCardinality(String), count UInt32, time_ns UInt64));

CREATE TABLE IF NOT EXISTS other_1m{local}{on_cluster}
(
    minute DateTime('UTC') CODEC(Delta, ZSTD(1)),
    service LowCardinality(String),
    name LowCardinality(String),
    component LowCardinality(String),
    line LowCardinality(String),
    function LowCardinality(String),
    library LowCardinality(String),
    state LowCardinality(String),
    stack LowCardinality(String),
    samples UInt64,
    time_ns UInt64
)
ENGINE = {replicated}SummingMergeTree{keeper_path}
PARTITION BY toYYYYMM(minute)
PRIMARY KEY (service, name, minute)
ORDER BY (service, name, minute, component, line, function, library, state, stack)
TTL minute + INTERVAL 400 DAY
SETTINGS {deduplication}, ttl_only_drop_parts = 1, default_compression_codec = 'ZSTD(1)';

{cluster_only} CREATE TABLE IF NOT EXISTS other_1m{on_cluster} AS other_1m_local
ENGINE = Distributed({cluster}, {database}, 'other_1m_local', 0);

CREATE MATERIALIZED VIEW IF NOT EXISTS count_samples{on_cluster} TO other_1m{local} AS
SELECT
    toStartOfMinute(started_at) AS minute, service, name, sample.component AS component, sample.line AS line,
    sample.function AS function, sample.library AS library, sample.state AS state, sample.stack AS stack,
    sum(sample.count) AS samples, sum(sample.time_ns) AS time_ns
FROM {transactions}
ARRAY JOIN sample
GROUP BY minute, service, name, component, line, function, library, state, stack;

ALTER TABLE other_1m{on_cluster}
    MODIFY COMMENT 'Samples where no measured call was in progress: sums of one stack, for one kind, in a minute. Add up rows with sum and GROUP BY.',
    COMMENT COLUMN IF EXISTS component 'view, template.render …, or other: in no component',
    COMMENT COLUMN IF EXISTS line 'of the application, as shop/views.py:42; empty without one',
    COMMENT COLUMN IF EXISTS function 'of the line',
    COMMENT COLUMN IF EXISTS library 'the function that the line had called; empty while the line itself ran',
    COMMENT COLUMN IF EXISTS state 'computing, gil, cpu, lock, sleep, file, socket, process, loop, waiting',
    COMMENT COLUMN IF EXISTS stack 'frames, outermost first, joined by ;',
    COMMENT COLUMN IF EXISTS time_ns 'for which the samples stand: an estimate with a standard error of time_ns / sqrt(samples)';

ALTER TABLE transactions{on_cluster}
    COMMENT COLUMN IF EXISTS sample 'samples of its stack where no call was in progress; ARRAY JOIN sample, then sample.line, sample.time_ns …'
