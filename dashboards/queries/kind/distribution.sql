-- How long transactions took
-- A row is a class of durations, from the time at its left on; the darker, the more transactions. Two bands are two ways through the code: a hit and a miss of a cache, a small and a large customer. The slowest are in the table beside. Of more than a million transactions one in 16 is read and counts 16.
-- include points
SELECT
    time,
    repeat(char(226, 128, 139), assumeNotNull(class - lowest) + 1) AS place,
    concat(
        toString(round([1, 1.6, 2.5, 4, 6.3][class % 5 + 1] * pow(10, intDiv(class, 5) % 3), 1)),
        [' ns', ' µs', ' ms', ' s', ' ks'][intDiv(class, 15) + 1]) AS took,
    nullIf(number[class], 0) AS transactions
FROM
(
    SELECT *, min(least_class) OVER () AS lowest, max(most_class) OVER () AS highest
    FROM
    (
        SELECT time, minOrNull(class) AS least_class, maxOrNull(class) AS most_class, sumMap(map(class, n)) AS number
        FROM
        (
            SELECT
                toDateTime(intDiv(toUnixTimestamp(started_at), point_s) * point_s, 'UTC') AS time,
                toUInt8(floor(log10(greatest(duration_ns, 1)) * 5 + 1e-9)) AS class,
                sum(weight) AS n
            FROM
            (
                SELECT started_at, duration_ns, toUInt64(1) AS weight, service, kind, version, host, environment, attributes
                FROM kinds_each
                WHERE in_window <= 1000000
                UNION ALL
                SELECT started_at, duration_ns, 16, service, name, version, host, environment, attributes
                FROM sampled_transactions
                WHERE in_window > 1000000
            )
            WHERE started_at >= from_at AND started_at < to_at
            -- include chosen
            GROUP BY time, class
        )
        GROUP BY time
        ORDER BY time WITH FILL STEP point_s
    )
)
ARRAY JOIN range(assumeNotNull(lowest), assumeNotNull(highest) + 1) AS class
ORDER BY time, place
