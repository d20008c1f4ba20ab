-- Waiting for a CPU, as the kernel counts it, and for the asyncio event loop. docs/wire.md describes them. Unknown times
-- are NULL; sums of a minute are of the known ones.
ALTER TABLE transactions{local}{on_cluster}
    ADD COLUMN IF NOT EXISTS cpu_wait_ns Nullable(UInt64) CODEC(GCD, T64, ZSTD(1)),
    ADD COLUMN IF NOT EXISTS cpu_throttled_ns UInt64,
    ADD COLUMN IF NOT EXISTS loop_run_ns Nullable(UInt64) CODEC(GCD, T64, ZSTD(1)),
    ADD COLUMN IF NOT EXISTS loop_wait_ns Nullable(UInt64) CODEC(GCD, T64, ZSTD(1));

{cluster_only} ALTER TABLE transactions{on_cluster}
    ADD COLUMN IF NOT EXISTS cpu_wait_ns Nullable(UInt64),
    ADD COLUMN IF NOT EXISTS cpu_throttled_ns UInt64,
    ADD COLUMN IF NOT EXISTS loop_run_ns Nullable(UInt64),
    ADD COLUMN IF NOT EXISTS loop_wait_ns Nullable(UInt64);

ALTER TABLE sampled_transactions{local}{on_cluster}
    ADD COLUMN IF NOT EXISTS cpu_wait_ns Nullable(UInt64) CODEC(GCD, T64, ZSTD(1)),
    ADD COLUMN IF NOT EXISTS cpu_throttled_ns UInt64,
    ADD COLUMN IF NOT EXISTS loop_run_ns Nullable(UInt64) CODEC(GCD, T64, ZSTD(1)),
    ADD COLUMN IF NOT EXISTS loop_wait_ns Nullable(UInt64) CODEC(GCD, T64, ZSTD(1));

{cluster_only} ALTER TABLE sampled_transactions{on_cluster}
    ADD COLUMN IF NOT EXISTS cpu_wait_ns Nullable(UInt64),
    ADD COLUMN IF NOT EXISTS cpu_throttled_ns UInt64,
    ADD COLUMN IF NOT EXISTS loop_run_ns Nullable(UInt64),
    ADD COLUMN IF NOT EXISTS loop_wait_ns Nullable(UInt64);

ALTER TABLE transactions_1m{local}{on_cluster}
    ADD COLUMN IF NOT EXISTS cpu_wait_ns SimpleAggregateFunction(sum, UInt64),
    ADD COLUMN IF NOT EXISTS cpu_wait_known SimpleAggregateFunction(sum, UInt64),
    ADD COLUMN IF NOT EXISTS loop_wait_ns SimpleAggregateFunction(sum, UInt64),
    ADD COLUMN IF NOT EXISTS loop_wait_known SimpleAggregateFunction(sum, UInt64);

{cluster_only} ALTER TABLE transactions_1m{on_cluster}
    ADD COLUMN IF NOT EXISTS cpu_wait_ns SimpleAggregateFunction(sum, UInt64),
    ADD COLUMN IF NOT EXISTS cpu_wait_known SimpleAggregateFunction(sum, UInt64),
    ADD COLUMN IF NOT EXISTS loop_wait_ns SimpleAggregateFunction(sum, UInt64),
    ADD COLUMN IF NOT EXISTS loop_wait_known SimpleAggregateFunction(sum, UInt64);

-- for older stores; a later file that changes one of these views takes its statement from here
ALTER TABLE open_requests{on_cluster} MODIFY QUERY
{query:open_requests};

ALTER TABLE store_transactions{on_cluster} MODIFY QUERY
{query:store_transactions};

ALTER TABLE take_sample{on_cluster} MODIFY QUERY
{query:take_sample};

CREATE OR REPLACE VIEW otel_traces{on_cluster} AS
{query:otel_traces};

ALTER TABLE transactions{on_cluster}
    COMMENT COLUMN IF EXISTS cpu_wait_ns 'its thread could run and had no CPU; NULL when unknown',
    COMMENT COLUMN IF EXISTS cpu_throttled_ns 'the part of cpu_wait_ns for which the CPU quota of its container was used up, at most',
    COMMENT COLUMN IF EXISTS loop_run_ns 'asyncio: in the steps of its task; NULL elsewhere',
    COMMENT COLUMN IF EXISTS loop_wait_ns 'asyncio: a step was ready and the event loop was busy, an estimate; NULL elsewhere'
