-- Servers
-- `load` is how many statements transactions wait for at once, `running` how many the server works on for all its clients: much more are other clients. `used` is of the connections allowed, at most; `from disk` of the pages read from the buffer pool. `row locks` is time waited for them in a second. Empty: the server is not observed. A click on a server opens its page.
-- include window
SELECT
    server AS "server",
    concat(extract(said.version, '^[0-9.]+'), if(said.version ILIKE '%mariadb%', ' MariaDB', '')) AS "version",
    nullIf(sent.ns, 0) / 1e9 / (to_s - from_s) AS "load",
    said.threads_running AS "running",
    said.queries / nullIf(said.over_ns, 0) * 1e9 AS "per second",
    sent.query_ns / nullIf(sent.queries, 0) AS "per query",
    nullIf(sent.failures, 0) AS "errors",
    if(said.over_ns > 0, said.most_connected / nullIf(said.max_connections, 0), NULL) AS "used",
    said.page_misses / nullIf(said.page_requests, 0) AS "from disk",
    nullIf(said.row_lock_wait_ns, 0) / said.over_ns * 1e9 AS "row locks",
    nullIf(happened.deadlocks, 0) AS "deadlocks",
    nullIf(said.replication_lag_ns, 0) AS "lag"
FROM
    (
        SELECT
            toString(server) AS server, sum(r.time_ns) AS ns, sumIf(r.time_ns, component = 'mysql.query') AS query_ns,
            sumIf(r.calls, component = 'mysql.query') AS queries, sum(r.errors) AS failures
        FROM
        -- include rows
        AS r
        GROUP BY server
    ) AS sent
FULL JOIN (
        SELECT * REPLACE (toString(server) AS server, toNullable(most_connected) AS most_connected, toNullable(threads_running) AS threads_running)
        FROM
        -- include said_whole
    ) AS said
    USING (server)
LEFT JOIN (
        SELECT toString(server) AS server, uniqExact(event, at) AS deadlocks
        FROM server_events
        WHERE at >= from_at AND at < to_at AND event = 'deadlock'
        GROUP BY server
    ) AS happened
    USING (server)
ORDER BY "load" DESC NULLS LAST, server
LIMIT 100
