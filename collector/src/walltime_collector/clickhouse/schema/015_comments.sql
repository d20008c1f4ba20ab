-- Comments of the tables that people query and of their columns: DESCRIBE, SQL tools and the page /sql show them.
-- A table without a comment is internal. On a cluster the comments are on the table that reads all shards.
ALTER TABLE transactions{on_cluster}
    MODIFY COMMENT 'A row is a transaction (one request or job) with its bill. Columns of a component are <system>_<operation>_<counter>, as mysql_query_time_ns; those of other components are in the custom_* maps.',
    COMMENT COLUMN IF EXISTS trace_id 'lower(hex(trace_id)) is the id that walltime show and logs have',
    COMMENT COLUMN IF EXISTS started_at 'UTC; compare it with now() - INTERVAL 1 HOUR to read less',
    COMMENT COLUMN IF EXISTS duration_ns 'wall time in nanoseconds, until the response body is closed',
    COMMENT COLUMN IF EXISTS service 'the application: OTEL_SERVICE_NAME',
    COMMENT COLUMN IF EXISTS name 'of the kind, as GET /search',
    COMMENT COLUMN IF EXISTS kind 'OpenTelemetry''s span kind: server, consumer …',
    COMMENT COLUMN IF EXISTS instance 'of the process',
    COMMENT COLUMN IF EXISTS user 'as the application names it',
    COMMENT COLUMN IF EXISTS http_status '0 when it is not HTTP',
    COMMENT COLUMN IF EXISTS is_error 'failed: an exception, or a status from 500',
    COMMENT COLUMN IF EXISTS error_type 'class of the exception, or the status',
    COMMENT COLUMN IF EXISTS kept 'why its calls are in spans: random, slow, error, forced, upstream, foreign; empty: they are not',
    COMMENT COLUMN IF EXISTS sample_probability 'with which its calls were kept at random',
    COMMENT COLUMN IF EXISTS queue_ns 'from the proxy''s time stamp to the application; NULL when unknown',
    COMMENT COLUMN IF EXISTS cpu_user_ns 'CPU time of its thread; NULL when unknown',
    COMMENT COLUMN IF EXISTS cpu_system_ns 'CPU time of its thread in the kernel; NULL when unknown',
    COMMENT COLUMN IF EXISTS covered_ns 'time in components, without overlaps',
    COMMENT COLUMN IF EXISTS other_ns 'time in no component',
    COMMENT COLUMN IF EXISTS calls_dropped 'calls of its detail beyond the limit; the bill counts them',
    COMMENT COLUMN IF EXISTS custom_time_ns 'nanoseconds of components that the application names',
    COMMENT COLUMN IF EXISTS `target.component` 'with the other target.… columns: a component on one server; ARRAY JOIN target',
    COMMENT COLUMN IF EXISTS `target.address` 'of the server',
    COMMENT COLUMN IF EXISTS `statement.text` 'with the other statement.… columns: the statements it sent, without values; ARRAY JOIN statement',
    COMMENT COLUMN IF EXISTS attributes 'of the transaction: annotations and others',
    COMMENT COLUMN IF EXISTS resource 'of the process';

ALTER TABLE spans{on_cluster}
    MODIFY COMMENT 'A row is a call of a transaction whose calls were kept, or a span of another SDK.',
    COMMENT COLUMN IF EXISTS trace_id 'joins transactions; lower(hex(trace_id)) is the usual form',
    COMMENT COLUMN IF EXISTS parent_span_id 'span_id of its transaction or of the call around it',
    COMMENT COLUMN IF EXISTS component 'as mysql.query; empty for a span of another SDK',
    COMMENT COLUMN IF EXISTS nested_ns 'the part of the duration in nested calls that are components of their own',
    COMMENT COLUMN IF EXISTS own_ns 'duration without nested calls',
    COMMENT COLUMN IF EXISTS attributes 'of OpenTelemetry, as db.query.text and server.address',
    COMMENT COLUMN IF EXISTS resource 'of the process';

ALTER TABLE slow_queries{on_cluster}
    MODIFY COMMENT 'A row is an entry of a database''s slow log; trace_id joins it to transactions.',
    COMMENT COLUMN IF EXISTS started_at 'of the statement, UTC',
    COMMENT COLUMN IF EXISTS read_at 'when the log was read; retention counts from here',
    COMMENT COLUMN IF EXISTS query_ns 'time of the statement on the server',
    COMMENT COLUMN IF EXISTS lock_ns 'waiting for tables; with MySQL 8.0.28 and later for rows too',
    COMMENT COLUMN IF EXISTS row_lock_ns 'waiting for rows, as Percona Server logs it',
    COMMENT COLUMN IF EXISTS likely_row_lock_ns 'time in MariaDB''s engine that neither disk nor pages explain',
    COMMENT COLUMN IF EXISTS server 'name of the log',
    COMMENT COLUMN IF EXISTS fingerprint 'the statement without its values',
    COMMENT COLUMN IF EXISTS sample 'the statement, redacted',
    COMMENT COLUMN IF EXISTS trace_id 'of the transaction; zeros when the statement has no comment with it',
    COMMENT COLUMN IF EXISTS weight 'statements for which the entry stands, when the log is sampled',
    COMMENT COLUMN IF EXISTS fields 'all fields of the entry, as logged';

ALTER TABLE transactions_1m{on_cluster}
    MODIFY COMMENT 'Sums of a kind''s transactions in a minute, kept longer than they. Add up rows: sum, max, quantilesTDigestMerge, GROUP BY.',
    COMMENT COLUMN IF EXISTS minute 'its beginning, UTC',
    COMMENT COLUMN IF EXISTS transactions 'how many',
    COMMENT COLUMN IF EXISTS errors 'how many failed',
    COMMENT COLUMN IF EXISTS duration_ns 'sum',
    COMMENT COLUMN IF EXISTS max_ns 'the longest',
    COMMENT COLUMN IF EXISTS percentiles_ns 'quantilesTDigestMerge(0.5, 0.95, 0.99)(percentiles_ns)',
    COMMENT COLUMN IF EXISTS other_ns 'time in no component, sum',
    COMMENT COLUMN IF EXISTS cpu_ns 'of the cpu_known transactions only';

ALTER TABLE targets_1m{on_cluster}
    MODIFY COMMENT 'Sums of one component on one server, for one kind, in a minute. Add up rows with sum and GROUP BY.',
    COMMENT COLUMN IF EXISTS component 'as memcache.get',
    COMMENT COLUMN IF EXISTS address 'of the server',
    COMMENT COLUMN IF EXISTS transactions 'that called it',
    COMMENT COLUMN IF EXISTS time_ns 'time of the calls';

ALTER TABLE statements_1m{on_cluster}
    MODIFY COMMENT 'Sums of one statement, for one kind, in a minute. Add up rows with sum and GROUP BY.',
    COMMENT COLUMN IF EXISTS text 'the statement as the application wrote it, without values',
    COMMENT COLUMN IF EXISTS transactions 'that sent it',
    COMMENT COLUMN IF EXISTS time_ns 'time of the calls, on the client';

ALTER TABLE walltime_health{on_cluster}
    MODIFY COMMENT 'A row is a minute of one collector''s counters. Rows add up over minutes and collectors.',
    COMMENT COLUMN IF EXISTS received 'spans; = stored + rejected + dead + lost + growth of spooled',
    COMMENT COLUMN IF EXISTS spooled 'spans that waited on disk at the end of the minute',
    COMMENT COLUMN IF EXISTS spool_oldest_s 'age of the oldest of them, in seconds';

ALTER TABLE sdk_losses{on_cluster}
    MODIFY COMMENT 'A row is a counter of one process since its start: lost.… in transactions, outside.calls in calls.',
    COMMENT COLUMN IF EXISTS count 'query with max by process';

ALTER TABLE irregular_spans{on_cluster}
    MODIFY COMMENT 'Spans that were rejected or changed, by minute and reason: bad_ids, clamped_start, implausible_times, attributes_dropped.'
