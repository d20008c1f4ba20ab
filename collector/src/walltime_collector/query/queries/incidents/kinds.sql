-- What did each kind do in each minute of this time? One row of a kind has all its minutes: of thousands of
-- kinds, rows take most of the time.
SELECT service, name, groupArray((step, transactions, errors, duration_ns, typical_ns)) AS steps
FROM
(
    SELECT
        toUnixTimestamp(minute) AS step,
        service,
        name,
        sum(t.transactions) AS transactions,
        sum(t.errors) AS errors,
        sum(t.duration_ns) AS duration_ns,
-- include incidents/_typical.sql
        AS typical_ns
    FROM transactions_1m AS t
    WHERE minute >= toDateTime({start_s:Int64}, 'UTC') AND minute < toDateTime({end_s:Int64}, 'UTC')
        AND service != 'walltime.doctor'
    GROUP BY step, service, name
    HAVING transactions > 0
    ORDER BY step
)
GROUP BY service, name
