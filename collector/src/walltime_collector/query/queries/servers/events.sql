-- What happened on these servers, or on all of them, in this time? Also what began before it and was not over. An event that lasts is
-- written again: the row that ends last counts.
SELECT
    toUnixTimestamp64Milli(at) * 1000000 AS start_ns,
    toUnixTimestamp64Milli(until) * 1000000 AS end_ns,
    server,
    system,
    event,
    what,
    number,
    details
FROM
(
    SELECT * FROM server_events
    WHERE at < fromUnixTimestamp64Nano({end_ns:Int64}, 'UTC')
        AND until >= fromUnixTimestamp64Nano({start_ns:Int64}, 'UTC')
        AND (empty({servers:Array(String)}) OR server IN {servers:Array(String)})
        AND (empty({events:Array(String)}) OR event IN {events:Array(String)})
    ORDER BY until DESC
    LIMIT 1 BY server, event, at
)
ORDER BY at DESC, server, event
LIMIT {limit:UInt64}
