(
    -- the calls of transactions that were kept by chance: a fair sample, each call for as many as its transaction stands for
    SELECT
        s.started_at AS started_at, s.duration_ns AS duration_ns, toString(s.component) AS component, s.attributes AS attributes,
        s.status = 'error' AS has_failed, t.trace AS trace, t.sender AS service, t.of_kind AS kind,
        concat(s.attributes['server.address'], if(s.attributes['server.port'] = '', '', concat(':', s.attributes['server.port']))) AS server,
        1 / t.probability AS stands_for
    FROM spans AS s
    INNER JOIN (
            SELECT trace_id, any(toString(service)) AS sender, any(toString(kind)) AS of_kind, lower(hex(trace_id)) AS trace, any(probability_of) AS probability
            FROM
            (
                SELECT
                    trace_id, service, name AS kind, version, host, environment, attributes, started_at, kept,
                    sample_probability AS probability_of
                FROM transactions
            )
            WHERE kept = 'random' AND probability_of > 0 AND started_at >= from_at AND started_at < to_at
                -- include chosen
            GROUP BY trace_id
        ) AS t
        ON s.trace_id = t.trace_id
    WHERE s.started_at >= from_at AND s.started_at < to_at + INTERVAL 1 HOUR AND match(s.component, '^(?:{of})[.]')
)
