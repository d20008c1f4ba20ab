-- Which version of a service brought a statement, what it costs a day: the sums per minute are by version as well. A view
-- and a table of its own would take 10 % of the CPU of an INSERT; this takes none. Versions of rows before are empty.
ALTER TABLE transactions_1m{local}{on_cluster}
    ADD COLUMN IF NOT EXISTS version LowCardinality(String) AFTER name,
    MODIFY ORDER BY (service, name, minute, version);

{cluster_only} ALTER TABLE transactions_1m{on_cluster}
    ADD COLUMN IF NOT EXISTS version LowCardinality(String) AFTER name;

ALTER TABLE statements_1m{local}{on_cluster}
    ADD COLUMN IF NOT EXISTS version LowCardinality(String) AFTER name,
    MODIFY ORDER BY (service, name, text, minute, version);

{cluster_only} ALTER TABLE statements_1m{on_cluster}
    ADD COLUMN IF NOT EXISTS version LowCardinality(String) AFTER name;

-- for older stores; a later file that changes one of these views takes its statement from here
ALTER TABLE count_transactions{on_cluster} MODIFY QUERY
{query:count_transactions};

ALTER TABLE count_statements{on_cluster} MODIFY QUERY
{query:count_statements};

ALTER TABLE count_statuses{on_cluster} MODIFY QUERY
SELECT
    toStartOfMinute(started_at) AS minute, service, name, version,
    countIf(http_status < 500) AS status_4xx,
    countIf(http_status >= 500) AS status_5xx
FROM {transactions}
WHERE http_status >= 400 AND http_status < 600
GROUP BY minute, service, name, version;

CREATE VIEW IF NOT EXISTS statements_1d{on_cluster} AS
SELECT
    toDate(minute) AS day, service, name, version, text, sum(s.transactions) AS transactions, sum(s.calls) AS calls,
    sum(s.time_ns) AS time_ns, sum(s.errors) AS errors, min(minute) AS first_seen
FROM statements_1m AS s
GROUP BY day, service, name, version, text;

ALTER TABLE statements_1d{on_cluster}
    MODIFY COMMENT 'A row is a statement on a day: of one kind, in one version of its service. A view of statements_1m.',
    COMMENT COLUMN IF EXISTS day 'UTC',
    COMMENT COLUMN IF EXISTS version 'of the service; empty when it reports none',
    COMMENT COLUMN IF EXISTS transactions 'that sent it',
    COMMENT COLUMN IF EXISTS time_ns 'of the calls, on the client',
    COMMENT COLUMN IF EXISTS first_seen 'the first minute of the day';

ALTER TABLE statements_1m{on_cluster}
    COMMENT COLUMN IF EXISTS version 'of the service; empty when it reports none, and in rows of earlier collectors';

ALTER TABLE transactions_1m{on_cluster}
    COMMENT COLUMN IF EXISTS version 'of the service; empty when it reports none, and in rows of earlier collectors'
