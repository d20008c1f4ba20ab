-- Its calls in time
-- Transactions of all services, and every call where they were kept (for failures, for callers that sample, and by chance). Click on one for its statement, key or address.
WITH
    (
        SELECT arraySort(groupArray((position, replaceOne(replaceOne(name, '_time_ns', ''), '_', '.')))).2
        FROM system.columns
        WHERE database = currentDatabase() AND table = 'transactions' AND endsWith(name, '_time_ns') AND name != 'custom_time_ns'
    ) AS built_in,
    unhex(extract(lower(${trace_id:singlequote}), '[0-9a-f]{32}')) AS asked,
    (
        SELECT argMax(trace_id, duration_ns)
        FROM transactions
        WHERE empty(asked)
            AND $__timeFilter(started_at)
            AND $__conditionalAll(service IN (${service:singlequote}), $service)
            AND $__conditionalAll(name IN (${kind:singlequote}), $kind)
    ) AS slowest
SELECT
    toJSONString(CAST(
        (traceID, spanID, parentSpanID, serviceName, operationName, startTime, duration, tags, serviceTags, kind, statusCode),
        'Tuple(traceID String, spanID String, parentSpanID String, serviceName String, operationName String,
            startTime Float64, duration Float64, tags Array(Map(String, String)), serviceTags Array(Map(String, String)),
            kind String, statusCode UInt8)')) AS span
FROM
(
    SELECT
        lower(hex(trace_id)) AS traceID,
        lower(hex(span_id)) AS spanID,
        if(parent_span_id = unhex('0000000000000000'), '', lower(hex(parent_span_id))) AS parentSpanID,
        service AS serviceName,
        operation AS operationName,
        toUnixTimestamp64Nano(started_at) / 1e6 AS startTime,
        duration_ns / 1e6 AS duration,
        arrayMap(tag -> map('key', tag.1, 'value', tag.2), arrayConcat(said, if(has_failed, [('error', 'true')], []))) AS tags,
        arrayMap(tag -> map('key', tag.1, 'value', tag.2), about) AS serviceTags,
        kind,
        if(has_failed, 2, 0) AS statusCode
    FROM
    (
        SELECT
            trace_id, span_id, parent_span_id, service, toString(name) AS operation, started_at, duration_ns, toString(kind) AS kind, is_error AS has_failed,
            arrayConcat(
                arrayMap(
                    c -> (c.1, toString(round(c.2 / 1e6, 3)) || ' ms in ' || toString(c.3) || if(c.3 = 1, ' call', ' calls')),
                    arrayFilter(c -> c.3 > 0, arrayConcat(
                        arrayZip(built_in, [COLUMNS('_time_ns$') EXCEPT (custom_time_ns)], [COLUMNS('_calls$') EXCEPT (custom_calls)]),
                        arrayMap(c -> (toString(c), custom_time_ns[c], custom_calls[c]), mapKeys(custom_time_ns))))),
                [('other', toString(round(other_ns / 1e6, 3)) || ' ms')],
                arrayFilter(tag -> tag.2 != '', [
                    ('http.response.status_code', if(http_status = 0, '', toString(http_status))), ('error.type', toString(error_type)),
                    ('user.id', toString(user)), ('walltime.kept', toString(kept))]),
                CAST(attributes, 'Array(Tuple(String, String))')) AS said,
            arrayConcat(
                arrayFilter(tag -> tag.2 != '', [
                    ('host.name', toString(host)), ('service.instance.id', toString(instance)), ('service.version', toString(version)),
                    ('deployment.environment.name', toString(environment))]),
                CAST(resource, 'Array(Tuple(String, String))')) AS about
        FROM transactions
        WHERE trace_id = if(length(asked) = 16, toFixedString(asked, 16), slowest)
    )
    UNION ALL
    SELECT
        lower(hex(trace_id)), lower(hex(span_id)), lower(hex(parent_span_id)), service, name,
        toUnixTimestamp64Nano(started_at) / 1e6, duration_ns / 1e6,
        arrayMap(
            tag -> map('key', tag.1, 'value', tag.2),
            arrayConcat(
                arrayFilter(tag -> tag.2 != '', [('walltime.component', toString(component)), ('status', status_message)]),
                CAST(attributes, 'Array(Tuple(String, String))'),
                if(status = 'error', [('error', 'true')], []))),
        arrayMap(tag -> map('key', tag.1, 'value', tag.2), CAST(resource, 'Array(Tuple(String, String))')),
        toString(kind),
        if(status = 'error', 2, 0)
    FROM spans
    WHERE trace_id = if(length(asked) = 16, toFixedString(asked, 16), slowest)
        AND span_id NOT IN (SELECT span_id FROM transactions WHERE trace_id = if(length(asked) = 16, toFixedString(asked, 16), slowest))
)
ORDER BY startTime
LIMIT 10000
