-- include points
SELECT
    time,
    repeat(char(226, 128, 139), at) AS place,
    concat(
        replaceAll(name, '_', ' '),
        multiIf(
            ifNull(now_is = 0 OR before = 0, true), '',
            now_is >= 10 * before, concat(' ×', toString(round(assumeNotNull(now_is / before)))),
            concat(if(now_is < before, ' −', ' +'), toString(round(abs(100 * assumeNotNull(now_is / before - 1)))), ' %'))) AS tile,
    value
FROM
(
    SELECT *, anyIf(each_of, of = 'whole') OVER () AS whole, anyIf(each_of, of = 'earlier') OVER () AS earlier
    FROM
    (
        SELECT
            time, 'point' AS of,
            -- include measures
            AS each_of
        FROM
        -- include kind_points
        UNION ALL
        -- the number that a tile shows is the last one; a gap keeps it out of the course
        SELECT toDateTime(to_s, 'UTC'), 'gap', arrayMap(any -> CAST(NULL, 'Nullable(Float64)'), {names})
        UNION ALL
        SELECT
            toDateTime(to_s + 1, 'UTC'), 'whole',
            -- include measures
        FROM
        -- include kind_sums
        UNION ALL
        SELECT *
        FROM
        (
            -- include before
            SELECT
                toDateTime(0, 'UTC'), 'earlier',
                -- include measures
            FROM
            -- include kind_sums
        )
    )
)
ARRAY JOIN each_of AS value, whole AS now_is, earlier AS before, {names} AS name, arrayEnumerate(each_of) AS at
WHERE of != 'earlier'
ORDER BY time, place
