-- Kinds with incidents
-- The kinds that were not as usual for the longest part of the time shown.
SELECT
    service AS "service",
    kind AS "kind",
    countIf(id != '') AS "incidents",
    nullIf(countIf(is_open), 0) AS "open",
    sumIf(greatest(0, least(if(is_open, toUnixTimestamp(now()), toUnixTimestamp(ended_at)), toUnixTimestamp(($__toTime)))
        - greatest(toUnixTimestamp(started_at), toUnixTimestamp(($__fromTime)))), id != '') * 1e9 AS "not as usual",
    nullIf(max(started_at), toDateTime(0)) AS "last began at"
FROM
-- include incidents_or_none
GROUP BY service, kind
ORDER BY "not as usual" DESC
LIMIT 100
