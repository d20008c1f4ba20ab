-- Which transactions of a Scope were kept with their calls, and called this server, or sent one of these statements? Those
-- whose trace id begins with bytes chosen by their hash: a fair choice, and their calls lie together in `spans`.
-- `random` come first: only they are a fair sample of all transactions. Of each kind at most so many.
SELECT
    lower(hex(trace_id)) AS trace,
    lower(hex(span_id)) AS span,
    toUnixTimestamp64Nano(started_at) AS started_ns,
    service,
    name,
    sample_probability,
    kept = 'random' AS is_fair
FROM {source:Identifier} AS transactions
WHERE kept != ''
    AND ({address:String} = '' OR has(target.address, {address:String}))
    AND ({texts:Array(String)} = [] OR hasAny(statement.text, {texts:Array(String)}))
    AND ({kinds:Array(String)} = [] OR concat(service, '\t', name) IN {kinds:Array(String)}) AND
-- include _scope.sql
ORDER BY is_fair DESC, cityHash64(substring(trace_id, 1, 2)), trace_id, span_id
LIMIT {of_kind:UInt32} BY service, name
LIMIT {limit:UInt32}
