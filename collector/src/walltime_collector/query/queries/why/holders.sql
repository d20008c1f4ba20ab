-- Which kinds held the locks that the slow transactions waited for, of which tables, and how long were they idle?
SELECT
    holder_service,
    holder_name,
    holder_object,
    sum(each_ns) AS waited_ns,
    count() AS waits,
    countIf(each_idle_ns > 0) AS idle,
    quantileExactIf(0.5)(each_idle_ns, each_idle_ns > 0) AS idle_ns,
    argMax(lower(hex(holder_trace)), each_ns) AS trace
FROM
(
    WITH
-- include why/_compared.sql
    SELECT trace_id, span_id
    FROM transactions
    WHERE is_compared AND is_slow
) AS compared
INNER JOIN
(
    SELECT
        waits.trace_id AS waiting_trace, waits.span_id AS waiting_span, waited_ns AS each_ns, object AS holder_object,
        holder_idle_ns AS each_idle_ns, holder_trace_id AS holder_trace,
        if(holders.kind_name = '', waits.holder_service, holders.kind_service) AS holder_service,
        if(holders.kind_name = '', waits.holder_route, holders.kind_name) AS holder_name
    FROM
    (
        SELECT *
        FROM
        (
            SELECT *
            FROM lock_waits
            WHERE started_at >= fromUnixTimestamp64Nano({slow_start_ns:Int64}, 'UTC')
                AND started_at < fromUnixTimestamp64Nano({slow_end_ns:Int64}, 'UTC') + INTERVAL 1 HOUR
            ORDER BY updated_at DESC, waited_ns DESC
            LIMIT 1 BY server, started_at, connection_id, holder_connection_id
        )
        WHERE sort != 'deadlock' AND trace_id != toFixedString('', 16)
        ORDER BY waited_ns DESC
        LIMIT {limit:UInt32}
    ) AS waits
    LEFT JOIN
    (
        SELECT trace_id, span_id, toString(any(transactions.service)) AS kind_service, toString(any(transactions.name)) AS kind_name
        FROM transactions
        WHERE transactions.started_at >= fromUnixTimestamp64Nano({slow_start_ns:Int64}, 'UTC') - INTERVAL 1 HOUR
            AND trace_id IN (
                SELECT holder_trace_id
                FROM lock_waits
                WHERE lock_waits.started_at >= fromUnixTimestamp64Nano({slow_start_ns:Int64}, 'UTC')
                    AND lock_waits.started_at < fromUnixTimestamp64Nano({slow_end_ns:Int64}, 'UTC') + INTERVAL 1 HOUR)
        GROUP BY trace_id, span_id
    ) AS holders ON holders.trace_id = waits.holder_trace_id AND holders.span_id = waits.holder_span_id
) AS held ON compared.trace_id = held.waiting_trace AND compared.span_id = held.waiting_span
GROUP BY holder_service, holder_name, holder_object
ORDER BY waited_ns DESC, holder_service, holder_name, holder_object
