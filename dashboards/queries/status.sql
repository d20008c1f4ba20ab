-- Status
-- What is shown, or why there is nothing, and what to do.
-- include window
    , (SELECT sum(transactions) FROM transactions_1m WHERE minute >= toStartOfMinute(from_at) AND minute < to_at AND service != 'walltime.doctor') AS of_any_kind
    , (SELECT max(minute) FROM transactions_1m WHERE service != 'walltime.doctor') AS last_minute
    , (
        SELECT (sum(transactions), uniqExact(service), uniqExact(service, kind), toDateTime64(max(time), 9, 'UTC'))
        FROM
        -- include kinds
    ) AS shown -- a scalar, so that only the last minute is read one by one
    , shown.1 AS number, shown.2 AS services, shown.3 AS kinds, shown.4 AS last_shown
SELECT
    assumeNotNull(multiIf(
        number > 0,
        concat(
            -- include number of=number
            , if(number = 1, ' transaction of ', ' transactions of '),
            toString(services), if(services = 1, ' service and ', ' services and '),
            toString(kinds), if(kinds = 1, ' kind', ' kinds')),
        of_any_kind > 0,
        'No transaction of what is chosen above. There are others in this time: choose All, or remove the annotation.',
        last_minute > toDateTime(0),
        'No transaction in this time. Choose a longer one.',
        'No transaction is stored yet. Send some: OTEL_SERVICE_NAME=shop walltime-run gunicorn shop:app; test: walltime doctor'
    )) AS "sentence",
    multiIf(
        number > 0, toNullable((
            SELECT max(started_at)
            FROM kinds_each
            WHERE started_at >= greatest(from_at, last_shown) AND started_at < to_at
            -- include chosen
        )),
        last_minute > toDateTime(0), toNullable(toDateTime64(last_minute, 9, 'UTC')),
        NULL) AS "last began"
