-- Incidents
-- When a kind was not as usual: those that are open, and those of the time shown. A click on the sentence opens the incident in Walltime, which explains it.
WITH
    shown AS
    (
        SELECT *
        FROM incidents FINAL
        WHERE (is_open OR started_at <= ($__toTime) AND ended_at >= ($__fromTime))
            AND $__conditionalAll(service IN (${service:singlequote}), $service)
            AND $__conditionalAll(name IN (${kind:singlequote}), $kind)
    )
SELECT *
FROM
(
    SELECT
        toNullable(started_at) AS "started",
        if(is_open, NULL, ended_at) AS "ended",
        toString(service) AS "service",
        toString(name) AS "kind",
        toString(severity) AS "severity",
        headline AS "what happened",
        concat('/', id) AS "id"
    FROM shown
    UNION ALL
    SELECT NULL, NULL, '', '', '', 'None: all kinds are as usual.', ''
    WHERE (SELECT count() FROM shown) = 0
)
ORDER BY "started" DESC
LIMIT 200
