-- Servers
-- `hit ratio` is of the keys that transactions asked for, `of all` what the server counts for all its clients. `load` is how many calls are open at once; `used` is of the memory allowed, and `evicted` are items removed a second for lack of it. `up` is the time since its start: a cache that was restarted is empty. Empty: the server is not observed. A click on a server opens its page.
-- include window
SELECT
    server AS "server",
    if(said.version = '', sent.system, concat(said.system, ' ', said.version)) AS "version",
    said.up_ns AS "up",
    sent.found / nullIf(sent.found + sent.missed, 0) AS "hit ratio",
    said.hits / nullIf(said.hits + said.misses, 0) AS "of all",
    nullIf(sent.missed, 0) AS "misses",
    nullIf(sent.ns, 0) / 1e9 / (to_s - from_s) AS "load",
    nullIf(sent.called, 0) / (to_s - from_s) AS "per second",
    sent.ns / nullIf(sent.called, 0) AS "per call",
    nullIf(sent.failures, 0) AS "errors",
    said.most_bytes / nullIf(said.max_bytes, 0) AS "used",
    nullIf(said.evictions, 0) / said.over_ns * 1e9 AS "evicted"
FROM
    (
        SELECT
            toString(server) AS server, if(any(family) = 'redis', 'redis', 'memcached') AS system, sum(r.time_ns) AS ns,
            sum(r.calls) AS called, sum(r.errors) AS failures,
            -- of a delete or an incr, not found is no miss
            sumIf(r.hits, endsWith(component, 'get')) AS found, sumIf(r.misses, endsWith(component, 'get')) AS missed
        FROM
        -- include rows
        AS r
        GROUP BY server
    ) AS sent
FULL JOIN (
        SELECT * REPLACE (toString(server) AS server, toString(system) AS system), toNullable(uptime_s) * 1e9 AS up_ns
        FROM
        -- include said_whole
    ) AS said
    USING (server)
ORDER BY "load" DESC NULLS LAST, server
LIMIT 100
