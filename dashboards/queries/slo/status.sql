-- Status
-- The target, and whether it is kept.
-- include since from=toUnixTimestamp(($__toTime))-259200 step=60
-- include target
SELECT
    multiIf(
        sum(number) = 0 AND (SELECT count() FROM transactions_1m WHERE service != 'walltime.doctor') = 0,
        -- include nothing_stored
        , sum(number) = 0,
        'No transaction of what is chosen above in three days: choose All, or send one.',
        concat(
            'Target: ', toString(round(100 * target, 4)), ' % neither fail nor take longer than ', toString(limit_ns / 1e6), ' ms. In three days ',
            toString(floor(100 * (1 - sum(bad_3d) / sum(number)), 3)), ' % did so, of ',
            -- include number of=sum(number)
            , if(sum(bad_3d) > budget * sum(number), ': it is missed.', ': it is kept.'))) AS "sentence"
FROM
-- include windows
