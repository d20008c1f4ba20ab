-- Servers, by the time spent on them
-- `hit ratio` and `misses` are of memcache's gets.
SELECT
    component AS "component",
    address AS "server",
    sum(time_ns) AS "time",
    sum(time_ns) / nullIf(sum(sum(time_ns)) OVER (), 0) AS "share",
    sum(calls) AS "calls made",
    if(sum(calls) = 0, NULL, sum(time_ns) / sum(calls)) AS "per call",
    if(sum(found) + sum(missed) = 0, NULL, sum(found) / (sum(found) + sum(missed))) AS "hit ratio",
    if(sum(found) + sum(missed) = 0, NULL, sum(missed)) AS "misses",
    sum(failed) AS "errors",
    length(groupUniqArray((service, name))) AS "kinds that call it"
FROM transactions
ARRAY JOIN
    target.component AS component, target.address AS address, target.calls AS calls, target.time_ns AS time_ns,
    target.errors AS failed, target.hits AS found, target.misses AS missed
WHERE $__timeFilter(started_at)
    AND $__conditionalAll(service IN (${service:singlequote}), $service)
    AND $__conditionalAll(name IN (${kind:singlequote}), $kind)
GROUP BY component, address
ORDER BY "time" DESC
LIMIT 200
