-- Its calls in time
-- One bar per call, from when it began to when it ended; calls inside others are indented. `line` is the place in the application that made the call.
-- include shown
    , (SELECT (min(started_at), max(toUnixTimestamp64Nano(started_at) + duration_ns)) FROM transactions WHERE trace_id = shown) AS whole
    , toUnixTimestamp64Nano(whole.1) AS began_ns
    , (
        SELECT CAST((groupArray(span_id), groupArray(parent_span_id)), 'Map(FixedString(8), FixedString(8))')
        FROM (SELECT span_id, parent_span_id FROM spans WHERE trace_id = shown LIMIT 2000 UNION ALL SELECT span_id, parent_span_id FROM transactions WHERE trace_id = shown)
    ) AS parents
    , (SELECT CAST((groupArray(component), groupArray(family)), 'Map(String, String)') FROM (SELECT DISTINCT component, family FROM components_each WHERE trace_id = shown)) AS family_of
    , (SELECT CAST((groupArray(family), groupArray(colour)), 'Map(String, String)') FROM families) AS colour_of
    , (SELECT count() FROM spans WHERE trace_id = shown AND span_id NOT IN (SELECT span_id FROM transactions WHERE trace_id = shown)) AS kept_calls
SELECT
    concat(
        repeat(char(226, 128, 131),
            arrayCount(at -> mapContains(parents, at), arrayFold((above, n) -> arrayPushBack(above, parents[above[-1]]), range(8), [parent])) + is_sum),
        called) AS "call",
    concat(
        'data:image/svg+xml;base64,',
        base64Encode(concat(
            '<svg xmlns="http://www.w3.org/2000/svg" width="300" height="24" viewBox="0 0 300 24"><rect y="6" height="12" x="',
            toString(round(298 * offset_ns / greatest(1, whole.2 - began_ns), 2)), '" width="',
            toString(round(greatest(1.5, 298 * duration_ns / greatest(1, whole.2 - began_ns)), 2)), '" fill="', colour, '"/></svg>'))) AS "in time",
    nullIf(if(is_sum, 0, offset_ns), 0) AS "after",
    duration_ns AS "took",
    server AS "server",
    result AS "result",
    line AS "line"
FROM
(
    SELECT
        span_id, toUnixTimestamp64Nano(started_at) - began_ns AS offset_ns, duration_ns, concat(name, ' · ', service) AS called, '#9aa1ab' AS colour,
        host AS server, if(is_error, if(error_type = '', 'failed', error_type), '') AS result, '' AS line, false AS is_sum,
        parent_span_id AS parent
    FROM transactions
    WHERE trace_id = shown
    UNION ALL
    SELECT
        span_id, toUnixTimestamp64Nano(started_at) - began_ns, duration_ns, called, colour_of[if(family_of[component] = '', 'application', family_of[component])],
        server,
        if(has_failed, if(status_message = '', 'failed', status_message), concat(
            if(attributes['db.response.returned_rows'] = '', '', concat(attributes['db.response.returned_rows'], if(attributes['db.response.returned_rows'] = '1', ' row', ' rows'))),
            attributes['http.response.status_code'], attributes[concat('walltime.', splitByChar('.', component)[1], '.result')])), line, false,
        parent_span_id
    FROM
    -- include calls
    UNION ALL
    SELECT
        toFixedString('', 8), 0, sum(time_ns), concat(component, ', ', toString(sum(c.calls) AS number), if(number = 1, ' call', ' calls together')), colour_of[any(family)],
        '', '', '', true, toFixedString('', 8)
    FROM components_each AS c
    WHERE trace_id = shown AND kept_calls = 0 AND calls > 0
    GROUP BY component
)
ORDER BY is_sum, offset_ns, duration_ns DESC
LIMIT 2000
