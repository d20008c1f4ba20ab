-- The request as Grafana draws traces
-- Click on a call for its statement, key or address.
-- include shown
SELECT
    toJSONString(CAST(
        (
            lower(hex(trace_id)), lower(hex(span_id)), if(parent_span_id = toFixedString('', 8), '', lower(hex(parent_span_id))),
            service, called, toUnixTimestamp64Nano(started_at) / 1e6, duration_ns / 1e6,
            arrayMap(tag -> map('key', tag.1, 'value', tag.2), arrayConcat(
                CAST(attributes, 'Array(Tuple(String, String))'), if(has_failed, [('error', 'true')], []), arrayFilter(tag -> tag.2 != '', [('status', status_message)]))),
            arrayMap(tag -> map('key', tag.1, 'value', tag.2), CAST(resource, 'Array(Tuple(String, String))')),
            span_kind, if(has_failed, 2, 0)),
        'Tuple(traceID String, spanID String, parentSpanID String, serviceName String, operationName String,
            startTime Float64, duration Float64, tags Array(Map(String, String)), serviceTags Array(Map(String, String)),
            kind String, statusCode UInt8)')) AS span
FROM
(
    SELECT
        trace_id, span_id, parent_span_id, service, toString(name) AS called, started_at, duration_ns, attributes, resource, is_error AS has_failed,
        toString(error_type) AS status_message, toString(kind) AS span_kind
    FROM transactions
    WHERE trace_id = shown
    UNION ALL
    SELECT trace_id, span_id, parent_span_id, service, called, started_at, duration_ns, attributes, resource, has_failed, status_message, span_kind
    FROM
    -- include calls
)
ORDER BY started_at
LIMIT 10000
