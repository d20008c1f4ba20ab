-- The slowest requests
-- Of all transactions whose calls were kept, also the slow and the failed ones. A click on a trace id shows the transaction.
-- include window
SELECT
    s.started_at AS "started",
    s.duration_ns AS "took",
    concat(s.attributes['http.request.method'], ' ', s.attributes['url.full']) AS "request",
    if(s.attributes['http.response.status_code'] = '', s.attributes['error.type'], s.attributes['http.response.status_code']) AS "answer",
    nullIf(toUInt32OrZero(s.attributes['http.request.resend_count']), 0) AS "again",
    t.sender AS "service",
    t.of_kind AS "kind",
    t.example AS "trace"
FROM spans AS s
INNER JOIN
    (
        -- the slowest request of a transaction is on its bill
        SELECT trace_id, lower(hex(trace_id)) AS example, toString(service) AS sender, toString(kind) AS of_kind
        FROM
        (
            SELECT
                trace_id, service, name AS kind, version, host, environment, attributes, started_at, kept,
                http_request_max_ns AS max_ns
            FROM transactions
        )
        WHERE kept != '' AND max_ns > 0 AND started_at >= from_at AND started_at < to_at
            -- include chosen
        ORDER BY max_ns DESC
        LIMIT 200
    ) AS t
    ON s.trace_id = t.trace_id
WHERE s.component = 'http.request'
    AND $__conditionalAll(concat(s.attributes['server.address'], ':', s.attributes['server.port']) IN (${server:singlequote}), $server)
ORDER BY "took" DESC
LIMIT 50
