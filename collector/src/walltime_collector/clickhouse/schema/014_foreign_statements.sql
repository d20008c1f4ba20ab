-- Statements of derived transactions, without their literals. The collector reads the SQL texts of a window's spans,
-- redacts them with the one SQL lexer (docs/decisions/035) and writes them here, before it makes transactions of the
-- window (otel_transactions/). A text may be here more than once, always with the same statement.
CREATE TABLE IF NOT EXISTS foreign_statements{local}{on_cluster}
(
    since DateTime('UTC'), -- of the window
    text_id UInt64, -- cityHash64(foreign_calls.sql_text)
    statement String,
    redacted_at DateTime('UTC') DEFAULT now('UTC')
)
ENGINE = {replicated}MergeTree{keeper_path}
ORDER BY (since, text_id)
TTL redacted_at + INTERVAL 1 DAY
SETTINGS {deduplication};

{cluster_only} CREATE TABLE IF NOT EXISTS foreign_statements{on_cluster} AS foreign_statements_local
ENGINE = Distributed({cluster}, {database}, 'foreign_statements_local', 0);

-- Spans of other SDKs as calls, by the semantic conventions, current and former: component (`mysql.query`), address
-- (`10.0.0.5:3306`), SQL text. The rules are the SDK's (conventions.py). A span without a component is no call.
-- `sql_text` has its literals: statements/fingerprint.py redacts it before it is stored elsewhere or shown.
CREATE OR REPLACE VIEW foreign_calls{on_cluster} AS
WITH
    -- the first one that says something
    (a, b) -> coalesce(nullIf(attributes[a], ''), attributes[b]) AS either,
    (a, b) -> coalesce(nullIf(a, ''), b) AS first_of,
    word -> substring(replaceRegexpAll(word, '[^A-Za-z0-9_-]', '_'), 1, 40) AS as_name
SELECT
    trace_id, span_id, parent_span_id, started_at, duration_ns, service, name, kind, host, instance, version,
    environment,
    status, status_message, attributes, resource,
    if(NOT is_call, '', concat(as_name(first_of(system, kind)), '.',
            as_name(first_of(operation, 'call')))) AS component,
    if(NOT is_call OR address_host = '', '',
        substring(concat(address_host, if(address_port = '', '', ':'), address_port), 1, 261)) AS address,
    if(is_call AND is_sql, text, '') AS sql_text,
    status = 'error' OR attributes['error.type'] != ''
        OR toUInt16OrZero(either('http.response.status_code', 'http.status_code')) >= 400 AS is_error
FROM
(
    SELECT
        *,
        multiIf(
            is_sql, if(db = 'mariadb', 'mysql', db), db = 'memcached', 'memcache', db != '', db,
            rpc = 'aws-api', lower(first_of(attributes['rpc.service'], 'aws')), rpc != '', rpc,
            messaging != '', messaging, gen_ai != '', gen_ai, http_method != '', 'http', '') AS system,
        multiIf(
            is_sql, multiIf(text = '' AND is_connect, 'connect',
                match(first_of(text, name), '(?i)(^|[^a-z])(commit|rollback)[; ]*$'), 'commit', 'query'),
            db = 'memcached', transform(lower(db_operation),
                ['gets', 'gat', 'gats', 'get_many', 'get_multi', 'gets_many', 'set_many', 'set_multi', 'delete_many',
                    'delete_multi'],
                ['get', 'get', 'get', 'get', 'get', 'get', 'set', 'set', 'delete', 'delete']),
            db = 'redis', lower(db_operation), db != '', db_operation,
            rpc != '', splitByChar('/', attributes['rpc.method'])[-1],
            messaging != '', first_of(either('messaging.operation.name', 'messaging.operation.type'),
                first_of(attributes['messaging.operation'], if(kind = 'producer', 'publish', ''))),
            gen_ai != '', attributes['gen_ai.operation.name'],
            http_method != '', if(is_connect, 'connect', 'request'), '') AS operation,
        first_of(first_of(peer, url_host), extract(attributes['messaging.url'],
                '([A-Za-z0-9][A-Za-z0-9.-]*):[0-9]+')) AS address_host,
        multiIf(
            peer != '', peer_port,
            http_method = '', extract(attributes['messaging.url'], '[A-Za-z0-9][A-Za-z0-9.-]*:([0-9]{1,5})'),
            url_port != '', url_port, transform(protocol(url), ['http', 'https'], ['80', '443'], '')) AS address_port
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
            first_of(first_of(either('db.operation.name', 'db.operation'), attributes['rpc.method']),
                first_of(extract(text, '^[A-Za-z_]+'), 'query')) AS db_operation,
            match(name, '(?i)(^|[^a-z])(connect|getconnection)$') AS is_connect,
            db IN (
                'postgresql', 'mysql', 'mariadb', 'sqlite', 'oracle', 'oracle_db', 'mssql', 'microsoft_sql_server',
                'db2', 'ibm_db2',
                'trino', 'cockroachdb', 'clickhouse', 'redshift', 'aws_redshift', 'snowflake', 'hive', 'derby',
                'h2database', 'hsqldb',
                'sql', 'other_sql', 'firebirdsql', 'sap_hana', 'spanner', 'gcp_spanner', 'bigquery', 'teradata',
                'vertica') AS is_sql,
            -- what happens inside of the process is a call only if it asks a database that is in the process too
            kind IN ('client', 'producer') OR kind = 'internal' AND db != '' AS is_call,
            first_of(first_of(either('server.address', 'net.peer.name'),
                    either('net.sock.peer.name', 'network.peer.address')), attributes['net.peer.ip']) AS peer,
            first_of(either('server.port', 'net.peer.port'),
                either('net.sock.peer.port', 'network.peer.port')) AS peer_port
        FROM spans
        WHERE spans.component = ''
    )
)
