-- include points
    , (
        SELECT
        -- include measures
        FROM
        -- include kind_sums
    ) AS whole
    , (
        -- include before
        SELECT
        -- include measures
        FROM
        -- include kind_sums
    ) AS earlier
SELECT
    time,
    repeat(char(226, 128, 139), at) AS place,
    concat(
        replaceAll(name, '_', ' '),
        multiIf(
            ifNull(whole[at] = 0 OR earlier[at] = 0, true), '',
            whole[at] >= 10 * earlier[at], concat(' ×', toString(round(assumeNotNull(whole[at] / earlier[at])))),
            concat(if(whole[at] < earlier[at], ' −', ' +'), toString(round(abs(100 * assumeNotNull(whole[at] / earlier[at] - 1)))), ' %'))) AS tile,
    each AS value
FROM
(
    SELECT
        time,
        -- include measures
        AS each_of
    FROM
    -- include kind_points
    -- the number that a tile shows is the last one; a gap keeps it out of the course
    UNION ALL
    SELECT toDateTime(to_s, 'UTC'), arrayMap(any -> CAST(NULL, 'Nullable(Float64)'), whole)
    UNION ALL
    SELECT toDateTime(to_s + 1, 'UTC'), whole
)
ARRAY JOIN each_of AS each, {names} AS name, arrayEnumerate(each_of) AS at
ORDER BY time, place
