-- Mean response time of both
-- At the same distance from their beginning.
-- include now
SELECT time, sum(ns_before) / nullIf(sum(number_before), 0) AS before, sum(ns) / nullIf(sum(number), 0) AS now
FROM
(
    SELECT time, sum(k.duration_ns) AS ns, sum(k.transactions) AS number, 0 AS ns_before, 0 AS number_before
    FROM
    -- include kinds
    AS k
    WHERE $__conditionalAll(version IN (${new_version:singlequote}), $new_version)
    GROUP BY time
    UNION ALL
    SELECT * FROM
    (
        -- include then
        SELECT
            toDateTime(intDiv(toUnixTimestamp(k.time) + toUnixTimestamp(($__fromTime)) - from_s, point_s) * point_s, 'UTC') AS time,
            0, 0, sum(k.duration_ns), sum(k.transactions)
        FROM
        -- include kinds
        AS k
        WHERE $__conditionalAll(version IN (${old_version:singlequote}), $old_version)
        GROUP BY time
    )
)
GROUP BY time
ORDER BY time WITH FILL STEP point_s
