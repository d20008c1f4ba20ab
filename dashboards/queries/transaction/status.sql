-- Status
-- Which request is shown, or why there is none.
-- include shown
    , (SELECT max(minute) FROM transactions_1m WHERE service != 'walltime.doctor') AS last_minute
SELECT
    assumeNotNull(multiIf(
        parts > 0, concat(
            multiIf(
                length(asked) = 16, 'Request ',
                empty(trimBoth(${trace_id:singlequote})), 'The slowest of what is chosen above: ',
                'No trace id is above. The slowest: '),
            request, ' of ', sender,
            if(parts = 1, '', concat(', with ', toString(parts - 1), ' more of other services')),
            '. Trace ', lower(hex(shown))),
        length(asked) = 16,
        concat('No transaction has the trace id ', lower(hex(asked)), '. It is over retention, too new, or elsewhere.'),
        last_minute > toDateTime(0),
        'No transaction of what is chosen above in this time: choose All, a longer time, or enter a trace id.',
        -- include nothing_stored
    )) AS "sentence",
    if(parts > 0, began_at, NULL) AS "began",
    lower(hex(shown)) AS "id"
FROM
(
    SELECT count() AS parts, argMin(kind, started_at) AS request, argMin(service, started_at) AS sender, min(started_at) AS began_at
    FROM kinds_each
    WHERE trace_id = shown
)
