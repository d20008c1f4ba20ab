-- How long do the transactions of each kind take, in no component (also inside of `view` and `middleware`), and in the queue
-- before them? A few very long ones do not make the kind look slow: as long as 95 of 100 of them, at most.
SELECT
    service,
    name,
    sum(each.transactions) AS transactions,
    least(sum(each.duration_ns), toUInt64(quantilesTDigestMerge(0.5, 0.95, 0.99)(states)[2] * transactions)) AS duration_ns,
    sum(each.other_ns) AS other_ns,
    sum(each.queue_ns) AS queue_ns,
    sum(each.queue_known) AS queue_known
FROM
(
    SELECT
        service, name, transactions, duration_ns,
        whole.other_ns + custom_time_ns['view'] + custom_time_ns['middleware'] AS other_ns,
        queue_ns, queue_known, percentiles_ns AS states
    FROM transactions_1m AS whole
    WHERE
-- include _whole_minutes.sql
    UNION ALL -- beside whole minutes
    SELECT
        service, name, count(), sum(transactions.duration_ns),
        sum(transactions.other_ns + custom_time_ns['view'] + custom_time_ns['middleware']),
        ifNull(sum(transactions.queue_ns), 0), count(transactions.queue_ns),
        quantilesTDigestState(0.5, 0.95, 0.99)(transactions.duration_ns)
    FROM {source:Identifier} AS transactions
    WHERE
-- include _beside_minutes.sql
    GROUP BY service, name
) AS each
GROUP BY service, name
ORDER BY duration_ns DESC, service, name
LIMIT {limit:UInt32}
