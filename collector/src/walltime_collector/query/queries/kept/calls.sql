-- The kept calls of these transactions: of one component on one server, or with one of these statements.
SELECT
    lower(hex(trace_id)) AS trace,
    lower(hex(parent_span_id)) AS parent,
    toUnixTimestamp64Nano(started_at) AS started_ns,
    duration_ns,
    own_ns,
    toString(spans.component) AS component,
    name,
    status,
    status_message,
    attributes
FROM spans
PREWHERE trace_id IN (SELECT unhex(arrayJoin({traces:Array(String)})))
WHERE ({component:String} = '' OR component = {component:String})
    AND ({host:String} = '' OR attributes['server.address'] = {host:String} AND attributes['server.port'] = {port:String})
    AND ({texts:Array(String)} = [] OR attributes['db.query.text'] IN {texts:Array(String)})
    AND started_at >= fromUnixTimestamp64Nano({start_ns:Int64}, 'UTC')
ORDER BY spans.trace_id, spans.started_at, spans.span_id
LIMIT {limit:UInt32}
