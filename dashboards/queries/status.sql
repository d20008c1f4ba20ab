-- Is there anything to see, and if not, what to do? One line; it begins with "No" when there is nothing.
WITH
    (SELECT count() FROM transactions) AS stored,
    (SELECT max(minute) FROM transactions_1m) AS last_minute,
    (SELECT count() FROM transactions WHERE $__timeFilter(started_at)) AS in_time
SELECT
    assumeNotNull(multiIf(
        transactions > 0,
        toString(transactions) || if(transactions = 1, ' transaction of ', ' transactions of ')
            || toString(services) || if(services = 1, ' service, ', ' services, ')
            || toString(kinds) || if(kinds = 1, ' kind; ', ' kinds; ')
            || 'the last began at ' || formatDateTime(last_at, '%F %T') || ' UTC',
        in_time > 0,
        'No transaction of the services and kinds chosen. Choose All of both: there are ' || toString(in_time) || ' in the time shown.',
        stored > 0 OR last_minute > toDateTime(0),
        'No transaction in the time shown. The last one began at ' || formatDateTime(last_minute, '%F %R') || ' UTC: choose a longer time.',
        'No transaction is stored yet. Send the first: OTEL_SERVICE_NAME=shop walltime-run gunicorn shop:app. '
            || 'If this line stays: walltime doctor'
    )) AS status
FROM
(
    SELECT
        count() AS transactions,
        uniqExact(service) AS services,
        uniqExact(service, name) AS kinds,
        max(started_at) AS last_at
    FROM transactions
    WHERE $__timeFilter(started_at)
        AND $__conditionalAll(service IN (${service:singlequote}), $service)
        AND $__conditionalAll(name IN (${kind:singlequote}), $kind)
)
