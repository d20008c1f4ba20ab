(
    SELECT
        k.server AS host, k.duration_ns AS ns, k.stands_for AS n, k.has_failed AS is_bad, k.trace AS trace_of, k.started_at AS at,
        concat(k.attributes['http.request.method'], ' ', k.attributes['url.full']) AS what,
        if(k.attributes['http.response.status_code'] = '', k.attributes['error.type'], k.attributes['http.response.status_code']) AS answer,
        toUInt32OrZero(k.attributes['http.request.resend_count']) AS resends
    FROM
    -- include kept of=http
    AS k
    WHERE k.component = 'http.request' AND $__conditionalAll(k.server IN (${server:singlequote}), $server)
)
