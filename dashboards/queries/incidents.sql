-- Incidents
-- When a kind was not as usual: those that are open, and those of the time shown. A click on the sentence opens the incident in Walltime, which explains it.
SELECT
    started_at AS "started",
    if(is_open, NULL, ended_at) AS "ended",
    service AS "service",
    name AS "kind",
    severity AS "severity",
    headline AS "what happened",
    id AS "id"
FROM incidents FINAL
WHERE (is_open OR started_at <= ($__toTime) AND ended_at >= ($__fromTime))
    AND $__conditionalAll(service IN (${service:singlequote}), $service)
    AND $__conditionalAll(name IN (${kind:singlequote}), $kind)
ORDER BY is_open DESC, started_at DESC
LIMIT 200
