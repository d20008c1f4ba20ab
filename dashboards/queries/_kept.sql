(
    -- the calls of the transactions `sampled`
    SELECT
        s.started_at AS started_at, s.duration_ns AS duration_ns, toString(s.component) AS component, s.attributes AS attributes,
        s.status = 'error' AS has_failed, lower(hex(s.trace_id)) AS trace,
        concat(s.attributes['server.address'], if(s.attributes['server.port'] = '', '', concat(':', s.attributes['server.port']))) AS server,
        t.of_each AS stands_for
    FROM spans AS s
    INNER JOIN (SELECT arrayJoin(sampled) AS each, each.1 AS trace_id, each.2 AS of_each) AS t
        ON s.trace_id = t.trace_id
    WHERE s.trace_id IN (SELECT arrayJoin(sampled).1) AND match(s.component, '^(?:{of})[.]')
)
