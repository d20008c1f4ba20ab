-- How long do the transactions of each kind take, in no component (also inside of `view` and `middleware`), on the CPU, and
-- in the queue before them?
SELECT
    service,
    name,
    sum(each.transactions) AS transactions,
    sum(each.duration_ns) AS duration_ns,
    sum(each.other_ns) AS other_ns,
    sum(each.cpu_ns) AS cpu_ns,
    sum(each.cpu_known) AS cpu_known,
    sum(each.queue_ns) AS queue_ns,
    sum(each.queue_known) AS queue_known
FROM
(
    SELECT
        service, name, transactions, duration_ns,
        whole.other_ns + custom_time_ns['view'] + custom_time_ns['middleware'] AS other_ns,
        cpu_ns, cpu_known, queue_ns, queue_known
    FROM transactions_1m AS whole
    WHERE
-- include _whole_minutes.sql
    UNION ALL -- beside whole minutes
    SELECT
        service, name, count(), sum(transactions.duration_ns),
        sum(transactions.other_ns + custom_time_ns['view'] + custom_time_ns['middleware']),
        ifNull(sum(transactions.cpu_user_ns + transactions.cpu_system_ns), 0),
        count(transactions.cpu_user_ns + transactions.cpu_system_ns),
        ifNull(sum(transactions.queue_ns), 0), count(transactions.queue_ns)
    FROM {source:Identifier} AS transactions
    WHERE
-- include _beside_minutes.sql
    GROUP BY service, name
) AS each
GROUP BY service, name
ORDER BY duration_ns DESC, service, name
LIMIT {limit:UInt32}
