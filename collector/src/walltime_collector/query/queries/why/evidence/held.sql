-- How long did the transactions of each side wait for locks whose holder was seen? In blocks of time, for the test.
WITH
    if(is_slow, ({slow_start_ns:Int64}, {slow_end_ns:Int64}), ({usual_start_ns:Int64}, {usual_end_ns:Int64})) AS window,
    toUInt8(least(intDiv(16 * (toUnixTimestamp64Nano(started_at) - window.1), greatest(window.2 - window.1, 1)), 15)) AS block
SELECT
    if(is_slow, 'slow', 'usual') AS side,
    -- not `transactions`: beside a JOIN that would hide the table, whose fields the condition of `when` names
    sum(weight) AS compared,
    sum(weight * waits.waited_ns) / compared AS wait_ns,
    countIf(waits.waited_ns > 0) AS waited,
    sumForEach(arrayMap(each -> if(each = block, weight, 0), range(16))) AS block_weights,
    sumForEach(arrayMap(each -> if(each = block, weight * waits.waited_ns, 0), range(16))) AS block_ns
FROM
(
    -- conditions name columns as transactions.…, which a join would not find
    WITH
-- include why/_compared.sql
        ,
-- include why/_weight.sql
    SELECT trace_id, span_id, started_at, is_slow, weight
    FROM transactions
    WHERE is_compared
) AS compared
LEFT JOIN
(
    SELECT trace_id AS waiting_trace, span_id AS waiting_span, toFloat64(sum(waited_ns)) AS waited_ns
    FROM
    (
        SELECT *
        FROM lock_waits
        WHERE started_at >= fromUnixTimestamp64Nano(least({slow_start_ns:Int64}, {usual_start_ns:Int64}), 'UTC')
            AND started_at < fromUnixTimestamp64Nano(greatest({slow_end_ns:Int64}, {usual_end_ns:Int64}), 'UTC') + INTERVAL 1 HOUR
        ORDER BY updated_at DESC, waited_ns DESC
        LIMIT 1 BY server, started_at, connection_id, holder_connection_id
    )
    WHERE sort != 'deadlock' AND trace_id != toFixedString('', 16)
    GROUP BY trace_id, span_id
) AS waits ON compared.trace_id = waits.waiting_trace AND compared.span_id = waits.waiting_span
GROUP BY side
ORDER BY side
