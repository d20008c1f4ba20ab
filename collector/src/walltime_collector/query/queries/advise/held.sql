-- Which kinds held locks that the transactions of a scope waited for, of which table? As the database showed it while the
-- waits lasted.
WITH waits AS
(
    SELECT * EXCEPT (started_at, service)
    FROM
    (
-- include _lock_waits.sql
    )
    WHERE sort != 'deadlock' AND trace_id != toFixedString('', 16) AND holder_trace_id != toFixedString('', 16)
        AND waited_ns >= {least_ns:UInt64}
    ORDER BY waited_ns DESC, trace_id
    LIMIT {limit:UInt32}
),
holders AS
(
    SELECT trace_id, span_id, toString(any(transactions.service)) AS kind_service, toString(any(transactions.name)) AS kind_name
    FROM transactions
    WHERE started_at >= fromUnixTimestamp64Nano({start_ns:Int64}, 'UTC') - INTERVAL 1 HOUR
        AND trace_id IN (SELECT holder_trace_id FROM waits)
    GROUP BY trace_id, span_id
)
SELECT
    if(holders.kind_name = '', waits.holder_service, holders.kind_service) AS by_service,
    if(holders.kind_name = '', waits.holder_route, holders.kind_name) AS by_name,
    waits.object AS table_name,
    count() AS waits,
    countIf(waits.holder_idle_ns > 0) AS idle,
    quantileExactIf(0.5)(waits.holder_idle_ns, waits.holder_idle_ns > 0) AS idle_ns,
    quantileExact(0.5)(waits.waited_ns) AS waited_ns,
    groupUniqArray(toString(waits.fingerprint_id)) AS waiting_ids,
    groupArray((waiting.service, waiting.name, waits.waited_ns)) AS locked,
    sumMap([waiting.span], [waits.waited_ns]) AS spans,
    argMax(lower(hex(waits.holder_trace_id)), waits.waited_ns) AS holder
FROM
(
    SELECT trace_id, span_id, lower(hex(span_id)) AS span, service, name
    FROM transactions
    WHERE trace_id IN (SELECT trace_id FROM waits) AND
-- include _scope.sql
) AS waiting
INNER JOIN waits ON waits.trace_id = waiting.trace_id AND waits.span_id = waiting.span_id
LEFT JOIN holders ON holders.trace_id = waits.holder_trace_id AND holders.span_id = waits.holder_span_id
GROUP BY by_service, by_name, table_name
ORDER BY sum(waits.waited_ns) DESC, by_service, by_name, table_name
