-- Which transactions ran at the same time as those that waited for a row lock, and wrote to the same table? Of `starts` and
-- `ends`, the first `waits` are the transactions that waited, the others are moments chosen by chance.
SELECT
    service,
    name,
    uniqExactIf(at, at <= {waits:UInt32}) AS together,
    uniqExactIf(at, at > {waits:UInt32}) AS by_chance,
    argMaxIf(trace, (is_kept, duration_ns), at <= {waits:UInt32}) AS holder
FROM
(
    SELECT
        service, name, lower(hex(trace_id)) AS trace, kept != '' AS is_kept, duration_ns,
        toUnixTimestamp64Nano(started_at) AS start_ns, start_ns + duration_ns AS end_ns,
        arrayJoin(arrayFilter(
            (at, starts, ends) -> start_ns < ends AND end_ns > starts, arrayEnumerate({starts:Array(Int64)}),
            {starts:Array(Int64)}, {ends:Array(Int64)})) AS at
    FROM transactions
    WHERE arrayExists(
            text -> match(text, '(?is)^\\s*(update|insert|delete|replace)|for\\s+(update|share)|lock in share mode')
                AND match(text, {table:String}), statement.text)
        AND lower(hex(span_id)) NOT IN (SELECT arrayJoin({spans:Array(String)})) AND
-- include _scope.sql
-- include _some_minutes.sql
)
GROUP BY service, name
ORDER BY together DESC, by_chance, service, name
