-- How bad were these kinds, each `service\tname`, at the same time of earlier days: in the second worst five minutes of
-- half an hour, so that one moment decides nothing, on the median of the days that have any? The row without a component
-- is about the kind itself.
SELECT
    service,
    name,
    component,
    address,
    count() AS days,
    quantileExactLow(0.5)(time_ns) AS time_ns,
    quantileExactLow(0.5)(errors) AS errors,
    quantileExactLow(0.5)(calls) AS calls,
    quantileExactLow(0.5)(misses) AS misses
FROM
(
    SELECT
        service, name, component, address, day,
        quantileExact(0.7)(s.typical_ns) AS time_ns, quantileExact(0.7)(s.errors / of_step) AS errors,
        quantileExact(0.7)(s.of_component / of_step) AS calls,
        quantileExact(0.7)(s.misses / greatest(s.lookups, 1)) AS misses
    FROM
    (
        SELECT
            service, name, component, address, intDiv(ago_s + 900, 86400) AS day, intDiv(ago_s + 900, 300) AS step,
            max(k.typical_ns) AS typical_ns, sum(k.errors) AS errors, sum(k.misses) AS misses, sum(k.lookups) AS lookups,
            sum(sum(k.calls)) OVER (PARTITION BY service, name, step, component) AS of_component,
            sum(sum(k.transactions)) OVER (PARTITION BY service, name, step) AS of_step
        FROM
        (
            SELECT
                intDiv({now_s:Int64} - toInt64(toUnixTimestamp(minute)) + 900, 300) * 300 - 900 AS ago_s, service, name,
                '' AS component, '' AS address, sum(t.transactions) AS transactions,
-- include incidents/_typical.sql
                AS typical_ns, sum(t.errors) AS errors, 0 AS calls, 0 AS misses, 0 AS lookups
            FROM transactions_1m AS t
            WHERE concat(service, '\t', name) IN {kinds:Array(String)}
                AND minute >= toDateTime({now_s:Int64} - 7 * 86400 - 900, 'UTC')
                AND minute <= toDateTime({now_s:Int64} - 86400 + 900, 'UTC')
            GROUP BY ago_s, service, name
            UNION ALL
            SELECT
                {now_s:Int64} - toInt64(toUnixTimestamp(minute)) AS ago_s, service, name, component, address, 0, 0, 0,
                calls, misses, hits + misses
            FROM targets_1m
            WHERE concat(service, '\t', name) IN {kinds:Array(String)}
                AND minute >= toDateTime({now_s:Int64} - 7 * 86400 - 900, 'UTC')
                AND minute <= toDateTime({now_s:Int64} - 86400 + 900, 'UTC')
        ) AS k
        WHERE (ago_s + 900) % 86400 < 1800
        GROUP BY service, name, component, address, day, step
    ) AS s
    WHERE of_step > 0
    GROUP BY service, name, component, address, day
)
GROUP BY service, name, component, address
