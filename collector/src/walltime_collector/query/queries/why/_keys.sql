    owners AS
    (
        WITH
-- include why/_compared.sql
        SELECT trace_id, span_id, is_slow FROM transactions WHERE is_compared AND kept = 'random' ORDER BY trace_id LIMIT 300 BY is_slow
    ),
    -- lookups of a cache, on a server, in kept transactions of both sides; trace ids are random, and neighbours are read at once
    lookups AS
    (
        SELECT
            is_slow, trace_id, splitByString('.', toString(spans.component))[1] AS system,
            replaceRegexpOne(attributes[concat('walltime.', system, '.key')], '([#0-9]|[^ -~]| and [0-9]+ more$).*', '') AS prefix,
            attributes[concat('walltime.', system, '.result')] AS result,
            splitByChar('/', result) AS parts,
            if(length(parts) = 2, toUInt64OrZero(parts[2]), toUInt64(result IN ('hit', 'miss'))) AS keys,
            if(length(parts) = 2, toUInt64OrZero(parts[1]), toUInt64(result = 'hit')) AS hits
        FROM spans
        INNER JOIN owners ON owners.trace_id = spans.trace_id AND owners.span_id = spans.parent_span_id
        WHERE spans.trace_id IN (SELECT trace_id FROM owners) AND component = {component:String} AND keys > 0
            AND {address:String} IN (attributes['server.address'], concat(attributes['server.address'], ':', attributes['server.port']),
                concat('[', attributes['server.address'], ']:', attributes['server.port']))
            AND spans.started_at >= fromUnixTimestamp64Nano(least({usual_start_ns:Int64}, {slow_start_ns:Int64}), 'UTC')
    )
