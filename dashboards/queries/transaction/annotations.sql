-- What the application and the SDK noted about it
-- Annotations of the transaction and of its process; `Annotation`, at the top, filters by one of them.
-- include shown
SELECT service AS "service", noted.1 AS "name", noted.2 AS "value"
FROM
(
    SELECT
        service, started_at,
        arrayJoin(arrayConcat(
            [('trace id', lower(hex(trace_id))), ('host', toString(host)), ('instance', toString(instance)), ('version', toString(version)),
                ('environment', toString(environment))],
            CAST(attributes, 'Array(Tuple(String, String))'), CAST(resource, 'Array(Tuple(String, String))'))) AS noted
    FROM transactions
    WHERE trace_id = shown
)
WHERE noted.2 != ''
ORDER BY started_at, noted
LIMIT 500
