-- Statements with a request id on these connections at this time: of the slow log, and kept calls. For holders of locks whose
-- database does not show what an idle connection ran.
SELECT
    connection_id,
    server,
    lower(hex(trace_id)) AS trace,
    lower(hex(span_id)) AS span,
    ended_ns,
    statement,
    service,
    route
FROM
(
    SELECT
        connection_id, toString(server) AS server, trace_id, span_id, toString(service) AS service, toString(route) AS route,
        sample AS statement, toUnixTimestamp64Nano(toDateTime64(started_at, 9, 'UTC')) + toInt64(query_ns) AS ended_ns
    FROM slow_queries
    WHERE started_at >= fromUnixTimestamp64Nano({since_ns:Int64}, 'UTC') AND started_at <= fromUnixTimestamp64Nano({until_ns:Int64}, 'UTC')
        AND connection_id IN {connections:Array(UInt64)} AND trace_id != toFixedString('', 16)
    UNION ALL
    SELECT
        toUInt64OrZero(attributes['walltime.mysql.connection_id']) AS connection_id,
        concat(attributes['server.address'], ':', attributes['server.port']) AS server, trace_id, parent_span_id AS span_id,
        toString(service) AS service, '' AS route, attributes['db.query.text'] AS statement,
        toUnixTimestamp64Nano(started_at) + toInt64(duration_ns) AS ended_ns
    FROM spans
    PREWHERE started_at >= fromUnixTimestamp64Nano({since_ns:Int64}, 'UTC') AND started_at <= fromUnixTimestamp64Nano({until_ns:Int64}, 'UTC')
        AND component = 'mysql.query'
    WHERE toUInt64OrZero(attributes['walltime.mysql.connection_id']) IN {connections:Array(UInt64)}
)
ORDER BY ended_ns DESC
LIMIT {limit:UInt32}
