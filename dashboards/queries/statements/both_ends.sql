-- Time per call, both ends
-- `application` is what callers waited, `server` what the server worked; between them are the network, the driver and a pool. Only where the server logs every call are both of the same calls.
-- include points
SELECT time, client_ns / nullIf(client_calls, 0) AS application, server_ns / nullIf(server_calls, 0) AS server
FROM
(
    SELECT
        time, sum(client_ns_of) AS client_ns, sum(client_calls_of) AS client_calls, sum(server_ns_of) AS server_ns, sum(server_calls_of) AS server_calls
    FROM
    (
        SELECT time, r.time_ns AS client_ns_of, r.calls AS client_calls_of, 0 AS server_ns_of, 0 AS server_calls_of
        FROM
        -- include rows
        AS r
        UNION ALL
        SELECT toDateTime(intDiv(toUnixTimestamp(toDateTime(started_at)), point_s) * point_s, 'UTC'), 0, 0, query_ns * weight, weight
        FROM slow_queries
        WHERE
        -- include log
    )
    GROUP BY time
    ORDER BY time WITH FILL STEP point_s
)
ORDER BY time
