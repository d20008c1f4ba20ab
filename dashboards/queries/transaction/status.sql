-- Status
-- Which request is shown, or why there is none.
WITH
    unhex(extract(lower(${trace_id:singlequote}), '[0-9a-f]{32}')) AS asked,
    (
        SELECT argMax(trace_id, duration_ns)
        FROM transactions
        WHERE empty(asked)
            AND $__timeFilter(started_at)
            AND $__conditionalAll(service IN (${service:singlequote}), $service)
            AND $__conditionalAll(name IN (${kind:singlequote}), $kind)
    ) AS slowest,
    if(length(asked) = 16, toFixedString(asked, 16), slowest) AS shown,
    lower(hex(shown)) || ', ' || kind || ' of ' || service || ', ' || formatDateTime(began_at, '%F %T') || ' UTC' AS request,
    (SELECT count() FROM transactions) AS stored,
    (SELECT max(minute) FROM transactions_1m) AS last_minute
SELECT
    assumeNotNull(multiIf(
        transactions > 0 AND length(asked) = 16, 'Request ' || request,
        transactions > 0 AND empty(trimBoth(${trace_id:singlequote})), 'The slowest of the time and kinds chosen: ' || request,
        transactions > 0, 'No trace id is in the text above. The slowest instead: ' || request,
        length(asked) = 16,
        'No transaction has the trace id ' || lower(hex(asked))
            || '. It is deleted after retention, or younger than a second, or its service sends elsewhere.',
        stored > 0 OR last_minute > toDateTime(0),
        'No transaction of the services and kinds chosen in the time shown: choose All, a longer time, or give a trace id.',
        'No transaction is stored yet. Send the first: OTEL_SERVICE_NAME=shop walltime-run gunicorn shop:app. '
            || 'If this line stays: walltime doctor'
    )) AS "sentence"
FROM
(
    SELECT
        count() AS transactions,
        argMin(name, started_at) AS kind,
        argMin(service, started_at) AS service,
        min(started_at) AS began_at
    FROM transactions
    WHERE trace_id = if(length(asked) = 16, toFixedString(asked, 16), slowest)
)
