-- What the database says of the statements of a simulated service. Each took it 90 % of the client's time: 10 % waiting for locks, 20 % for
-- the disk and 30 % computing, up to a half more or less. What `SELECT … FROM reviews` takes longer than `usual_ns` is `more`, in
-- this order; if that is less than all, the rest was at the database and is none of them, or not at the database at all.
INSERT INTO slow_queries
    (started_at, read_at, query_ns, lock_ns, io_wait_ns, cpu_ns, server, fingerprint_id, trace_id, span_id, weight, source, fields)
WITH
    what -> 0.5 + cityHash64(what, trace_id, text) % 1001 / 1000 AS about,
    each_ns / calls * 0.9 AS spent_ns,
    transform(text, {texts:Array(String)}, {ids:Array(UInt64)}, toUInt64(0)) AS id,
    if(id = {ids:Array(UInt64)}[2] AND started_at >= fromUnixTimestamp64Nano({from_ns:Int64}), least(spent_ns, {usual_ns:Float64}), spent_ns) AS usual_ns,
    spent_ns - usual_ns AS more_ns
SELECT
    started_at, now(), toUInt64(usual_ns + more_ns * {at_server:Float64}),
    toUInt64(usual_ns * 0.1 * about('lock') + more_ns * {more:Array(Float64)}[1]),
    toUInt64(usual_ns * 0.2 * about('disk') + more_ns * {more:Array(Float64)}[2]),
    toUInt64((usual_ns * 0.3 * about('cpu') + more_ns * {more:Array(Float64)}[3]) * {is_cpu_known:Bool}),
    '127.0.0.1:3306', id, trace_id, span_id, 1, 'performance_schema', map('thread_waits', '1')
FROM transactions
ARRAY JOIN statement.text AS text, statement.calls AS calls, statement.time_ns AS each_ns
WHERE service = {service:String} AND cityHash64(trace_id, text) % 100 < {logged_percent:UInt8}
