-- Derived transactions: spans of other OpenTelemetry SDKs, in any language. Their roots become transactions
-- (otel_transactions/), with a bill that is computed from the spans below them. docs/decisions/021 has the reasons.
--
--   spans ──find_foreign_roots──► foreign_roots ──otel_transactions/──► transactions (kept = 'foreign')
--     └──── foreign_calls (view: each span as a call) ───────────────┘
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
ENGINE = Distributed({cluster}, {database}, 'foreign_windows_local', 0);

-- Spans of other SDKs as calls, by the semantic conventions, current and former: component (`mysql.query`), address
-- (`10.0.0.5:3306`), statement. The rules are the SDK's (conventions.py). A span without a component is no call.
-- `statement` has no literals any more; the tokens are those of statements/fingerprint.py.
CREATE VIEW IF NOT EXISTS foreign_calls{on_cluster} AS
WITH
    -- the first one that says something
    (a, b) -> coalesce(nullIf(attributes[a], ''), attributes[b]) AS either,
    (a, b) -> coalesce(nullIf(a, ''), b) AS first_of,
    word -> substring(replaceRegexpAll(word, '[^A-Za-z0-9_-]', '_'), 1, 40) AS as_name,
    token -> multiIf(
        startsWith(token, '`'), token,
        match(token, '^(?:/\\*|#|--)'), ' ',
        match(token, '^(?:[0-9\'"]|\\.[0-9]|\\$.|.*\')'), '?', token) AS without_literal
SELECT
    trace_id, span_id, parent_span_id, started_at, duration_ns, service, name, kind, host, instance, version, environment,
    status, status_message, attributes, resource,
    if(NOT is_call, '', concat(as_name(first_of(system, kind)), '.', as_name(first_of(operation, 'call')))) AS component,
    if(NOT is_call OR address_host = '', '', substring(concat(address_host, if(address_port = '', '', ':'), address_port), 1, 261)) AS address,
    trim(replaceRegexpAll(arrayStringConcat(arrayMap(token -> without_literal(token), tokens)), '\\s+', ' ')) AS statement,
    status = 'error' OR attributes['error.type'] != '' OR toUInt16OrZero(either('http.response.status_code', 'http.status_code')) >= 400 AS is_error
FROM
(
    SELECT
        *,
        multiIf(
            is_sql, if(db = 'mariadb', 'mysql', db), db = 'memcached', 'memcache', db != '', db,
            rpc = 'aws-api', lower(first_of(attributes['rpc.service'], 'aws')), rpc != '', rpc,
            messaging != '', messaging, gen_ai != '', gen_ai, http_method != '', 'http', '') AS system,
        multiIf(
            is_sql, multiIf(text = '' AND is_connect, 'connect', match(first_of(text, name), '(?i)(^|[^a-z])(commit|rollback)[; ]*$'), 'commit', 'query'),
            db = 'memcached', transform(lower(db_operation),
                ['gets', 'gat', 'gats', 'get_many', 'get_multi', 'gets_many', 'set_many', 'set_multi', 'delete_many', 'delete_multi'],
                ['get', 'get', 'get', 'get', 'get', 'get', 'set', 'set', 'delete', 'delete']),
            db = 'redis', lower(db_operation), db != '', db_operation,
            rpc != '', splitByChar('/', attributes['rpc.method'])[-1],
            messaging != '', first_of(either('messaging.operation.name', 'messaging.operation.type'), first_of(attributes['messaging.operation'], if(kind = 'producer', 'publish', ''))),
            gen_ai != '', attributes['gen_ai.operation.name'],
            http_method != '', if(is_connect, 'connect', 'request'), '') AS operation,
        first_of(first_of(peer, url_host), extract(attributes['messaging.url'], '([A-Za-z0-9][A-Za-z0-9.-]*):[0-9]+')) AS address_host,
        multiIf(
            peer != '', peer_port,
            http_method = '', extract(attributes['messaging.url'], '[A-Za-z0-9][A-Za-z0-9.-]*:([0-9]{1,5})'),
            url_port != '', url_port, transform(protocol(url), ['http', 'https'], ['80', '443'], '')) AS address_port,
        -- what statements/fingerprint.py takes for one token; RE2's own classes of letters would take 50 ms to compile
        extractAll(if(is_call AND is_sql, text, ''), concat(
            '(?s)/\\*\\*/|/\\*[^+].*?(?:\\*/|\\z)|/\\*\\z|#[^\\n]*|--(?:[ \\t\\r\\f\\v][^\\n]*|\\n|\\z)',
            '|(?:[xXbBnN]|_[a-zA-Z0-9]+ ?)?\'(?:[^\'\\\\]|\\\\.|\'\')*(?:\'|\\\\?\\z)|"(?:[^"\\\\]|\\\\.|"")*(?:"|\\\\?\\z)',
            '|\\$[\\w\\x{80}-\\x{10FFFF}]*\\$.*?(?:\\$[\\w\\x{80}-\\x{10FFFF}]*\\$|\\z)',
            '|\\$?(?:[0-9][\\w$\\x{80}-\\x{10FFFF}]*(?:\\.(?:[0-9][\\w$\\x{80}-\\x{10FFFF}]*)?)?[eE]|\\.[0-9][\\w$\\x{80}-\\x{10FFFF}]*[eE])[-+][0-9]+',
            '|\\$?(?:[0-9][\\w$\\x{80}-\\x{10FFFF}]*(?:\\.(?:[0-9][\\w$\\x{80}-\\x{10FFFF}]*|[eE])?)?|\\.[0-9][\\w$\\x{80}-\\x{10FFFF}]*)',
            '|`(?:[^`]|``)*(?:`|\\z)|%\\([\\w\\x{80}-\\x{10FFFF}]+\\)s|%s|[a-zA-Z_\\x{80}-\\x{10FFFF}][\\w$\\x{80}-\\x{10FFFF}]*|.')) AS tokens
    FROM
    (
        SELECT
            * EXCEPT component,
            lower(as_name(either('db.system.name', 'db.system'))) AS db,
            lower(as_name(either('rpc.system.name', 'rpc.system'))) AS rpc,
            lower(as_name(attributes['messaging.system'])) AS messaging,
            lower(as_name(either('gen_ai.provider.name', 'gen_ai.system'))) AS gen_ai,
            either('http.request.method', 'http.method') AS http_method,
            either('url.full', 'http.url') AS url,
            -- domain() and port() know no address in brackets
            if(http_method = '', '', extract(url, '^[^:/?#]+://(?:[^/?#]*@)?(\\[[^/?#\\]]*\\]|[^:/?#]*)')) AS url_host,
            extract(url, '^[^:/?#]+://(?:[^/?#]*@)?(?:\\[[^/?#\\]]*\\]|[^:/?#]*):([0-9]{1,5})') AS url_port,
            either('db.query.text', 'db.statement') AS text,
            first_of(first_of(either('db.operation.name', 'db.operation'), attributes['rpc.method']), first_of(extract(text, '^[A-Za-z_]+'), 'query')) AS db_operation,
            match(name, '(?i)(^|[^a-z])(connect|getconnection)$') AS is_connect,
            db IN (
                'postgresql', 'mysql', 'mariadb', 'sqlite', 'oracle', 'oracle_db', 'mssql', 'microsoft_sql_server', 'db2', 'ibm_db2',
                'trino', 'cockroachdb', 'clickhouse', 'redshift', 'aws_redshift', 'snowflake', 'hive', 'derby', 'h2database', 'hsqldb',
                'sql', 'other_sql', 'firebirdsql', 'sap_hana', 'spanner', 'gcp_spanner', 'bigquery', 'teradata', 'vertica') AS is_sql,
            -- what happens inside of the process is a call only if it asks a database that is in the process too
            kind IN ('client', 'producer') OR kind = 'internal' AND db != '' AS is_call,
            first_of(first_of(either('server.address', 'net.peer.name'), either('net.sock.peer.name', 'network.peer.address')), attributes['net.peer.ip']) AS peer,
            first_of(either('server.port', 'net.peer.port'), either('net.sock.peer.port', 'network.peer.port')) AS peer_port
        FROM spans
        WHERE spans.component = ''
    )
)
