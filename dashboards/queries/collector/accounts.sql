-- Accounts
-- Spans of the time shown: received = stored + rejected + dead + lost + what is waiting more than before. `refused` are requests that were answered with an error, which applications send again. `dead` spans can be tried again: walltime dead-letter list.
-- include steps
SELECT
    any(host) AS "host",
    multiIf(collector = '', 'No counters in this time: they are written once a minute', max(minute) < now() - INTERVAL 5 MINUTE, 'No sign of it', argMax(is_ok, minute), 'All is well',
        concat('No: ', arrayStringConcat(arrayMap(word -> replaceAll(word, '_', ' '), argMax(troubles, minute)), ', '))) AS "health",
    sum(h.received) AS "received",
    sum(h.stored) AS "stored",
    nullIf(sum(h.rejected), 0) AS "rejected",
    nullIf(sum(h.dead), 0) AS "dead",
    nullIf(sum(h.lost), 0) AS "lost",
    nullIf(sum(h.refused), 0) AS "refused",
    nullIf(argMax(spooled, minute), 0) AS "waiting",
    nullIf(max(spool_oldest_s), 0) * 1e9 AS "longest lag",
    nullIf(max(minute), toDateTime(0, 'UTC')) AS "last seen"
FROM (SELECT 1 AS always) AS a
LEFT JOIN (SELECT * FROM
    -- include health
) AS h ON 1
GROUP BY collector
ORDER BY "host"
LIMIT 100
