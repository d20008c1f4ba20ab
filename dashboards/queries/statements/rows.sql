-- Rows examined for each one used
-- Rows the server read for each row that it sent or changed. A step up is another plan, or a table that has grown.
-- include points
SELECT time, examined / greatest(used, 1) AS rows
FROM
(
    SELECT
        toDateTime(intDiv(toUnixTimestamp(toDateTime(started_at)), point_s) * point_s, 'UTC') AS time,
        toNullable(sum(rows_examined * weight)) AS examined, sum((rows_sent + rows_affected) * weight) AS used
    FROM slow_queries
    WHERE
    -- include log
    GROUP BY time
    ORDER BY time WITH FILL STEP point_s
)
ORDER BY time
