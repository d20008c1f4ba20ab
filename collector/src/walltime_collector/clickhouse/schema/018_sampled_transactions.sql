-- One in 16 transactions, chosen by a hash of their trace id. Answers about very many transactions read one in 16, 32,
-- 64 … of them and are estimates: the number of the hash's zero bits at its end comes first in the order, so that
-- fewer transactions are fewer rows to read. Of transactions that were stored before this table there are none in it
-- (query/sampled.py).
-- A column that is added to transactions must be added here and to the view.
CREATE TABLE IF NOT EXISTS sampled_transactions{local}{on_cluster}
AS transactions{local}
ENGINE = {replicated}MergeTree{keeper_path}
PARTITION BY toDate(started_at)
ORDER BY (bitCount(bitXor(cityHash64(trace_id), cityHash64(trace_id) - 1)), service, name, started_at)
TTL toDateTime(started_at) + INTERVAL 30 DAY
SETTINGS {deduplication}, ttl_only_drop_parts = 1, default_compression_codec = 'ZSTD(1)'
COMMENT 'One in 16 transactions, by a hash of the trace id: for estimates over very many of them.';

{cluster_only} CREATE TABLE IF NOT EXISTS sampled_transactions{on_cluster} AS sampled_transactions_local
ENGINE = Distributed({cluster}, {database}, 'sampled_transactions_local', cityHash64(trace_id));

CREATE MATERIALIZED VIEW IF NOT EXISTS take_sample{on_cluster} TO sampled_transactions{local} AS
SELECT *
FROM {transactions}
WHERE cityHash64(trace_id) % 16 = 0
