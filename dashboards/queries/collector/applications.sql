-- What applications could not send or measure
-- As their processes reported since yesterday, each since it began. Lost transactions never reached a collector; calls outside of a transaction are on no bill.
WITH told AS
(
    SELECT
        toString(service) AS "service",
        multiIf(
            what LIKE 'lost.%', concat('transactions lost: ', replaceAll(substring(what, 6), '_', ' ')),
            what = 'outside.calls', 'calls outside of any transaction',
            what LIKE 'outside.%', concat('calls outside of any transaction in ', splitByChar('.', what)[-1]),
            replaceAll(what, '_', ' ')) AS "what happened",
        toNullable(toInt64(sum(each.count))) AS "number"
        FROM
    (
        SELECT service, host, instance, what, max(l.count) AS count
        FROM sdk_losses AS l
        WHERE day >= today() - 1 AND $__conditionalAll(service IN (${service:singlequote}), $service)
        GROUP BY service, host, instance, what
    ) AS each
    GROUP BY service, what
)
SELECT *
FROM
(
    SELECT * FROM told
    UNION ALL
    SELECT '', 'Nothing: all was sent.', NULL
    WHERE (SELECT count() FROM told) = 0
)
ORDER BY "what happened" LIKE 'transactions lost%' DESC, "number" DESC
LIMIT 100
