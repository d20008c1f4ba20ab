-- Services
-- `day before` is the p95 of the same time yesterday. `open` are incidents: kinds that are not as usual now. A click on a service shows its response time.
-- include window
SELECT
    service AS "service",
    -- include bar
    AS "time by family",
    now_is.kinds AS "kinds",
    now_is.last_version AS "version",
    now_is.number AS "transactions",
    now_is.number / (to_s - from_s) AS "per second",
    nullIf(now_is.failures, 0) / now_is.number AS "failed",
    now_is.p95_ns AS "p95",
    if(earlier.number = 0, NULL, earlier.p95_ns) AS "day before",
    "p95" / nullIf("day before", 0) - 1 AS "change",
    nullIf(incident.open, 0) AS "open"
FROM
    -- include services_of
    AS now_is
LEFT JOIN
    (
        -- include earlier by=86400
        SELECT service, number, p95_ns
        FROM
        -- include services_of
    ) AS earlier
    USING (service)
LEFT JOIN
    (SELECT service, count() AS open FROM incidents FINAL WHERE is_open GROUP BY service) AS incident
    USING (service)
ORDER BY arraySum(parts) DESC
LIMIT 100
