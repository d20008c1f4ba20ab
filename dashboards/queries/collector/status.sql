-- Status
-- Whether data moves now, or why not.
SELECT
    multiIf(
        (SELECT count() FROM transactions_1m WHERE service != 'walltime.doctor') = 0,
        -- include nothing_stored
        , collectors = 0, 'No collector wrote its counters within the last five minutes: it does not run, or the database does not answer. Look at walltime status',
        failing > 0, concat('No: ', toString(failing), ' of ', toString(collectors), if(collectors = 1, ' collector has', ' collectors have'), ' a problem: ', arrayStringConcat(problems, ', ')),
        concat(toString(collectors), if(collectors = 1, ' collector is', ' collectors are'), ' well: data moves.')) AS "sentence"
FROM
(
    SELECT count() AS collectors, countIf(NOT ok) AS failing, groupUniqArrayArray(arrayMap(word -> replaceAll(word, '_', ' '), what)) AS problems
    FROM
    (
        SELECT argMax(is_ok, minute) AS ok, argMax(troubles, minute) AS what
        FROM walltime_health
        WHERE minute >= now() - INTERVAL 5 MINUTE
        GROUP BY collector
    )
)
