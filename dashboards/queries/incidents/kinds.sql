-- Kinds with incidents
-- The kinds that were not as usual for the longest part of the time shown.
SELECT
    service AS "service",
    kind AS "kind",
    count() AS "incidents",
    nullIf(countIf(is_open), 0) AS "open",
    sum(greatest(0, least(if(is_open, toUnixTimestamp(now()), toUnixTimestamp(ended_at)), toUnixTimestamp(($__toTime)))
        - greatest(toUnixTimestamp(started_at), toUnixTimestamp(($__fromTime))))) AS "not as usual",
    max(started_at) AS "last began at"
FROM
-- include incidents
GROUP BY service, kind
ORDER BY "not as usual" DESC
LIMIT 100
