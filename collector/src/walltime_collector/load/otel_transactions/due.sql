-- The windows that have ended, whose time for late spans is over, and whose roots are not transactions yet.
-- The clock is the database's, which wrote loaded_at. A window of another length, from before a setting was changed,
-- counts for the roots in it too.
SELECT toUInt32(intDiv(toUnixTimestamp(loaded_at), {window_s:UInt32}) * {window_s:UInt32}) AS since_s,
    since_s + {window_s:UInt32} AS until_s
FROM
(
    SELECT loaded_at, 1 AS one
    FROM foreign_roots
    WHERE loaded_at >= toDateTime({from_s:UInt32}, 'UTC')
        AND toUnixTimestamp(loaded_at) < intDiv(toUnixTimestamp(now()) - {settle_s:UInt32},
            {window_s:UInt32}) * {window_s:UInt32}
) AS root
ASOF LEFT JOIN
(
    SELECT since, until, 1 AS one
    FROM foreign_windows
    WHERE step = 'assembled' AND until >= toDateTime({from_s:UInt32}, 'UTC')
) AS done ON done.one = root.one AND root.loaded_at >= done.since
WHERE done.until <= root.loaded_at
GROUP BY since_s
ORDER BY since_s
