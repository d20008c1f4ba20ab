-- How bad was this kind at the same time of earlier days: in the second worst five minutes of
-- half an hour, so that one moment decides nothing, on the median of the days that have any (the higher of two)?
SELECT measure, component, address, quantileExactHigh(0.5)(of_day) AS level
FROM
(
    SELECT
        day, series.1 AS measure, series.2 AS component, series.3 AS address, quantileExact(0.7)(series.4) AS of_day
    FROM
    (
        SELECT
            called, server, intDiv(ago_s + 900, 86400) AS day, intDiv(ago_s + 900, 300) AS step,
            max(k.typical_ns) AS typical_ns, sum(k.errors) AS errors, sum(k.misses) AS misses, sum(k.lookups) AS lookups,
            sum(sum(k.calls)) OVER (PARTITION BY step, called) AS calls,
            sum(sum(k.transactions)) OVER (PARTITION BY step) AS of_step
        FROM
        (
            SELECT
                intDiv({now_s:Int64} - toInt64(toUnixTimestamp(minute)) + 900, 300) * 300 - 900 AS ago_s,
                '' AS called, '' AS server, sum(t.transactions) AS transactions,
-- include incidents/_typical.sql
                AS typical_ns, sum(t.errors) AS errors, 0 AS calls, 0 AS misses, 0 AS lookups
            FROM transactions_1m AS t
            WHERE service = {service:String} AND name = {name:String}
                AND minute >= toDateTime({now_s:Int64} - 7 * 86400 - 900, 'UTC')
                AND minute <= toDateTime({now_s:Int64} - 86400 + 900, 'UTC')
            GROUP BY ago_s
            UNION ALL
            SELECT
                {now_s:Int64} - toInt64(toUnixTimestamp(minute)) AS ago_s, component, address, 0, 0, 0,
                calls, misses, hits + misses
            FROM targets_1m
            WHERE service = {service:String} AND name = {name:String}
                AND minute >= toDateTime({now_s:Int64} - 7 * 86400 - 900, 'UTC')
                AND minute <= toDateTime({now_s:Int64} - 86400 + 900, 'UTC')
        ) AS k
        WHERE (ago_s + 900) % 86400 < 1800
        GROUP BY called, server, day, step
    )
    ARRAY JOIN if(
        called = '',
        [('time', '', '', typical_ns), ('errors', '', '', errors / of_step)],
        [('calls', called, '', calls / of_step), ('hit_ratio', called, server, misses / greatest(lookups, 1))]
    ) AS series
    WHERE of_step > 0
    GROUP BY day, measure, component, address
)
GROUP BY measure, component, address
HAVING count() >= {least_days:UInt8}
