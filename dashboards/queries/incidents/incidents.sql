-- Incidents
-- A kind became slower, failed more or called more than usual. Those that are open are always here. A click on the sentence opens the incident in Walltime, which explains it; one on the kind shows its time.
SELECT
    started_at AS "started",
    if(is_open, NULL, ended_at) AS "ended",
    if(is_open, toUnixTimestamp(now()), toUnixTimestamp(ended_at)) - toUnixTimestamp(started_at) AS "lasted",
    severity AS "severity",
    service AS "service",
    kind AS "kind",
    replaceOne(headline, concat(kind, ': '), '') AS "what happened",
    multiIf(is_open, 'open', ended_because = 'over', 'as usual again', ended_because = 'silent', 'no transactions', ended_because = 'lasting', 'the new usual', 'over')
        AS "state",
    id AS "id"
FROM
-- include incidents
ORDER BY is_open DESC, started_at DESC
LIMIT 500
