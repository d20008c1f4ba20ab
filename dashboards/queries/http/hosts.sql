-- Dependencies
-- Hosts that transactions sent HTTP requests to. `load` is how many requests are open at once, `per request` the time of one with opening its connection. `connects` are new connections for each request: near 1, none is kept open. `kinds` call it. A click on a host opens its page.
-- include window
SELECT
    server AS "server",
    sum(r.time_ns) / 1e9 / (to_s - from_s) AS "load",
    sum(r.time_ns) / nullIf(sum(sum(r.time_ns)) OVER (), 0) AS "share",
    sum(r.calls) / (to_s - from_s) AS "per second",
    sum(r.time_ns) / nullIf(sum(r.calls), 0) AS "per request",
    nullIf(sum(r.errors), 0) / sum(r.calls) AS "failed",
    nullIf(sum(r.connects), 0) / greatest(sum(r.calls), 1) AS "connects",
    sumIf(r.time_ns, r.connects > 0) / nullIf(sum(r.connects), 0) AS "per connect",
    sum(r.calls) / nullIf(sumIf(r.transactions, r.calls > 0), 0) AS "calls of a sender",
    uniqExact(service, kind) AS "kinds"
FROM
-- include rows
AS r
GROUP BY server
ORDER BY "load" DESC
LIMIT 100
