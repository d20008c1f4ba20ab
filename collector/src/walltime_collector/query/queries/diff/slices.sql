-- How many transactions of each kind started in each slice of a window, how many of them failed, how long did they take? And how many
-- are longer than the bound of their kind?
-- Reads the sums of whole minutes where slices are whole minutes (Scope.divided); of very many slices only every n-th.
SELECT
    service,
    name,
    slice,
    sum(each.transactions) AS transactions,
    sum(each.errors) AS errors,
    sum(each.duration_ns) AS total_ns,
    sum(each.singles) AS singles,
    sum(each.single_ns) AS single_ns
FROM
(
    SELECT
        service, name, transactions, errors, duration_ns, 0 AS singles, 0 AS single_ns,
        intDiv(toUnixTimestamp(minute) * 1000000000 - {start_ns:Int64}, {slice_ns:Int64}) AS slice
    FROM transactions_1m
    WHERE
-- include _whole_minutes.sql
    UNION ALL
    SELECT
        service, name, 0, 0, 0, count(), sum(transactions.duration_ns),
        intDiv(toUnixTimestamp64Nano(started_at) - {start_ns:Int64}, {slice_ns:Int64}) AS slice
    FROM {source:Identifier} AS transactions
    WHERE duration_ns > {least_bound_ns:UInt64}
        AND duration_ns > transform(concat(service, '\t', name), {kinds:Array(String)}, {bounds_ns:Array(UInt64)}, 18446744073709551615) AND
-- include _scope.sql
    GROUP BY service, name, slice
    UNION ALL -- beside whole minutes
    SELECT
        service, name, count(), countIf(transactions.is_error), sum(transactions.duration_ns), 0, 0,
        intDiv(toUnixTimestamp64Nano(started_at) - {start_ns:Int64}, {slice_ns:Int64}) AS slice
    FROM {source:Identifier} AS transactions
    WHERE
-- include _beside_minutes.sql
    GROUP BY service, name, slice
) AS each
WHERE slice % {every:UInt32} = 0
GROUP BY service, name, slice
ORDER BY service, name, slice
