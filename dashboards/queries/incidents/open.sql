-- Open at a time
-- How many incidents were open at each point.
-- include steps
SELECT
    toDateTime(point, 'UTC') AS time,
    toFloat64(countIf(severity = 'critical' AND toUnixTimestamp(started_at) < point + step_s AND (is_open OR toUnixTimestamp(ended_at) >= point))) AS critical,
    toFloat64(countIf(severity != 'critical' AND toUnixTimestamp(started_at) < point + step_s AND (is_open OR toUnixTimestamp(ended_at) >= point))) AS warning
FROM
(
    SELECT arrayJoin(range(intDiv(from_s, step_s) * step_s, to_s, step_s)) AS point
) AS points
LEFT JOIN
    -- include incidents
    AS i ON 1
GROUP BY point
ORDER BY time
