-- Time per call, both ends
-- `application` is what callers waited, `server` what the server worked; between them are the network, the driver and a pool. Only where the server logs every call are both of the same calls.
-- include points
SELECT time, repeat(char(226, 128, 139), place_of) AS place, end, ns AS per_call
FROM
(
    SELECT
        time,
        sum(client_ns) / nullIf(sum(client_calls), 0) AS client,
        sum(server_ns) / nullIf(sum(server_calls), 0) AS server
    FROM
    (
        SELECT time, r.time_ns AS client_ns, r.calls AS client_calls, 0 AS server_ns, 0 AS server_calls
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
ARRAY JOIN [client, server] AS ns, [1, 5] AS place_of, ['application', 'server'] AS end
ORDER BY time, place
