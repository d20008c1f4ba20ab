-- What the database says of the statements of a simulated service: of each it took all but 10 % of the client's time and 50 µs. That
-- was `{share}` waiting for a lock, for the disk and computing, up to a half more or less; of `SELECT … FROM reviews` in the slow time it
-- is `usual_us` with the same shares, and the rest what `slow_share` says.
INSERT INTO slow_queries
    (started_at, read_at, query_ns, lock_ns, io_wait_ns, cpu_ns, server, fingerprint_id, trace_id, span_id, weight, source, fields)
WITH
    (what, of) -> 0.5 + cityHash64({seed:UInt64}, what, of) % 1000 / 1000 AS about,
    each_ns / calls * 0.9 AS server_ns,
    transform(text, {texts:Array(String)}, {ids:Array(UInt64)}, toUInt64(0)) AS id,
    if(id = {slow_id:UInt64} AND started_at >= fromUnixTimestamp64Nano({slow_ns:Int64}), least(server_ns, 720e3), server_ns) AS as_ever_ns,
    server_ns - as_ever_ns AS more_ns
SELECT
    started_at, now(), toUInt64(server_ns),
    toUInt64(as_ever_ns * 0.1 * about('lock', trace_id) + more_ns * {more:Array(Float64)}[1]),
    toUInt64(as_ever_ns * 0.2 * about('disk', trace_id) + more_ns * {more:Array(Float64)}[2]),
    toUInt64((as_ever_ns * 0.3 * about('cpu', trace_id) + more_ns * {more:Array(Float64)}[3]) * {is_cpu_known:UInt8}),
    '127.0.0.1:3306', id, trace_id, span_id, 1, 'performance_schema', map('thread_waits', '1')
FROM transactions
ARRAY JOIN statement.text AS text, statement.calls AS calls, statement.time_ns AS each_ns
WHERE service = {service:String} AND cityHash64(trace_id, text) % 100 < {logged_percent:UInt8}
