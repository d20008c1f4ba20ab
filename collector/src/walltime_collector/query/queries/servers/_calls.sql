    -- the calls of a Scope by server, with the second in which their transaction, or the minute, began; `at_s` is rounded
    -- down to a step
    SELECT
        intDiv(toUnixTimestamp(minute), {step_s:Int64}) AS step, service, name, component, address, transactions, calls, time_ns, errors,
        hits, misses
    FROM targets_1m
    WHERE ({address:String} = '' OR address = {address:String}) AND
-- include _whole_minutes.sql
    UNION ALL -- beside whole minutes
    SELECT
        intDiv(toUnixTimestamp(toDateTime(started_at)), {step_s:Int64}) AS step, service, name, called.component, called.address, 1, called.calls,
        called.time_ns, called.errors, called.hits, called.misses
    FROM {source:Identifier} AS transactions
    ARRAY JOIN target AS called
    WHERE ({address:String} = '' OR called.address = {address:String}) AND
-- include _beside_minutes.sql
