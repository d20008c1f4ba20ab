-- Incidents
-- A kind became slower, failed more or called more than usual. Those that are open are always here. A click on the sentence opens the incident in Walltime, which explains it; one on the kind shows its time.
SELECT
    nullIf(started_at, toDateTime(0)) AS "started",
    nullIf(if(is_open, toDateTime(0), ended_at), toDateTime(0)) AS "ended",
    nullIf(if(is_open, toUnixTimestamp(now()), toUnixTimestamp(ended_at)) - toUnixTimestamp(started_at), 0) * 1e9 AS "lasted",
    severity AS "severity",
    service AS "service",
    kind AS "kind",
    if(id = '', 'None: all kinds are as usual.', replaceOne(headline, concat(kind, ': '), '')) AS "what happened",
    multiIf(id = '', '', is_open, 'open', ended_because = 'over', 'as usual again', ended_because = 'silent', 'no transactions', ended_because = 'lasting', 'the new usual', 'over')
        AS "state",
    id AS "id"
FROM
-- include incidents_or_none
ORDER BY is_open DESC, started_at DESC
LIMIT 500
