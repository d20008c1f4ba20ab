-- Derived transactions: spans of other OpenTelemetry SDKs, in any language. Their roots become transactions
-- (otel_transactions/), with a bill that is computed from the spans below them. docs/decisions/021 has the reasons.
--
--   spans ──find_foreign_roots──► foreign_roots ──otel_transactions/──► transactions (kept = 'foreign')
--     └──── foreign_calls (view, in 014: each span as a call) ───────┘
--
-- Every SERVER or CONSUMER span, by the time of its storage; the other spans of its trace decide whether it is a root.
CREATE TABLE IF NOT EXISTS foreign_roots{local}{on_cluster}
(
    loaded_at DateTime('UTC'),
    trace_id FixedString(16),
    span_id FixedString(8),
    started_at DateTime64(9, 'UTC'),
    duration_ns UInt64,
    service LowCardinality(String)
)
ENGINE = {replicated}MergeTree{keeper_path}
ORDER BY loaded_at
TTL loaded_at + INTERVAL 7 DAY
SETTINGS {deduplication};

{cluster_only} CREATE TABLE IF NOT EXISTS foreign_roots{on_cluster} AS foreign_roots_local
ENGINE = Distributed({cluster}, {database}, 'foreign_roots_local', cityHash64(trace_id));

CREATE MATERIALIZED VIEW IF NOT EXISTS find_foreign_roots{on_cluster} TO foreign_roots{local} AS
SELECT now('UTC') AS loaded_at, trace_id, span_id, started_at, duration_ns, service
FROM {spans}
WHERE component = '' AND kind IN ('server', 'consumer') AND NOT mapContains(attributes, 'walltime.set_aside');

-- The steps of each window, the roots that were stored from `since` until before `until`; each step is stored once.
--   planned    into how many INSERTs the roots go (parts), for every collector, and how many roots and spans there were
--   assembled  the roots are transactions
--   checked    roots and spans counted again later, with those that were stored too late for the window
CREATE TABLE IF NOT EXISTS foreign_windows{local}{on_cluster}
(
    since DateTime('UTC'),
    until DateTime('UTC'),
    step LowCardinality(String),
    parts UInt32,
    roots UInt64,
    spans UInt64
)
ENGINE = {replicated}MergeTree{keeper_path}
ORDER BY (since, step)
TTL since + INTERVAL 8 DAY
SETTINGS {deduplication};

{cluster_only} CREATE TABLE IF NOT EXISTS foreign_windows{on_cluster} AS foreign_windows_local
ENGINE = Distributed({cluster}, {database}, 'foreign_windows_local', 0)
