-- Status
-- What is compared.
SELECT
    multiIf(
        n.1 = 0 AND b.1 = 0 AND (SELECT count() FROM transactions_1m WHERE service != 'walltime.doctor') = 0,
        -- include nothing_stored
        , n.1 = 0 AND b.1 = 0, 'No transaction on either side: choose All, or a longer time.',
        n.1 = 0, 'No transaction in the time and of the version shown.',
        b.1 = 0, concat('No transaction before: nothing is stored of ', side, '.'),
        concat(
            'Against ', side, ': ',
            -- include number of=n.1
            , ' transactions, before ',
            -- include number of=b.1
            , '; the mean ',
            if(n.2 / n.1 < b.2 / b.1, 'fell', 'rose'), ' by ', toString(round(100 * abs(n.2 / n.1 / (b.2 / b.1) - 1), 1)), ' %.')) AS "sentence"
FROM
(
    SELECT
        if($__conditionalAll(0, $old_version), transform(toUInt32(${against:singlequote}), [0, 3600, 86400, 604800],
            ['the time before', 'an hour before', 'the day before', 'the week before'], 'before'), concat('version ', arrayStringConcat([${old_version:singlequote}], ', '))) AS side,
        (
            -- include now
            SELECT (sum(transactions), sum(duration_ns))
            FROM (
            -- include kinds_of of=new_version is=$new_version
            )
        ) AS n,
        (
            -- include then
            SELECT (sum(transactions), sum(duration_ns))
            FROM (
            -- include kinds_of of=old_version is=$old_version
            )
        ) AS b
)
