-- What did each kind do in each step of this time? From the sums per minute; steps are whole minutes. One row of a kind has
-- all its steps: of thousands of kinds, rows take most of the time.
SELECT service, name, groupArray((step, transactions, errors, duration_ns, typical_ns)) AS steps
FROM
(
    SELECT
        intDiv(toUnixTimestamp(minute), {step_s:Int64}) * {step_s:Int64} AS step,
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
