-- include points
SELECT time, repeat(char(226, 128, 139), place_of) AS place, state, ns / 1e9 / seconds AS active
FROM
(
    SELECT
        time, place_of, state, ns, sum(ns) OVER (PARTITION BY state) AS whole,
        greatest(1, least(toUnixTimestamp(time) + point_s, to_s) - greatest(toUnixTimestamp(time), from_s)) AS seconds
    FROM
    (
        SELECT
            toDateTime(intDiv(toUnixTimestamp(toDateTime(started_at)), point_s) * point_s, 'UTC') AS time,
            sum(computing_ns * weight) AS computing, sum(locked_ns * weight) AS locked, sum(disk_ns * weight) AS disk,
            sum(rest_ns * weight) AS rest
        FROM slow_queries
        WHERE
        -- include log
        GROUP BY time
        ORDER BY time WITH FILL STEP point_s
    )
    -- places are those of the colours of `time by state`
    ARRAY JOIN [computing, locked, disk, rest] AS ns, [2, 3, 6, 12] AS place_of, ['on a CPU', 'waits for locks', 'reads from disk', 'not divided'] AS state
)
WHERE whole > 0
ORDER BY time, place
