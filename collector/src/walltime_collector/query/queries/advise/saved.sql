-- How long would the transactions of a kind take without what an advice removes? `of` says what that is in a bill:
-- statements, targets (components on servers), overlap (all but the longest of them, by server), other
-- (with the containers `view` and `middleware`), queue, or locks
-- (the waits of the transactions with these span ids).
WITH
    arrayMap(
        server -> arraySum((component, address, time_ns) ->
            if(address = server AND has({targets:Array(String)}, concat(component, '\t', address)), time_ns, 0),
            target.component, target.address, target.time_ns),
        arrayDistinct(target.address)) AS by_server,
    toFloat64(duration_ns + if({of:String} = 'queue', ifNull(queue_ns, 0), 0)) AS base_ns,
    least(base_ns, greatest(0, {share:Float64} * multiIf(
        {of:String} = 'statements', arraySum(
            (text, calls, time_ns) -> if(has({texts:Array(String)}, text),
                time_ns * if({is_repeated:Bool}, 1 - 1 / greatest(calls, 1), 1), 0),
            statement.text, statement.calls, statement.time_ns),
        {of:String} = 'targets', arraySum(
            (component, address, calls, time_ns) -> if(has({targets:Array(String)}, concat(component, '\t', address)),
                greatest(time_ns - calls * {usual_ns:Float64}, 0), 0),
            target.component, target.address, target.calls, target.time_ns),
        {of:String} = 'overlap', toFloat64(arraySum(by_server) - arrayMax(arrayPushBack(by_server, 0))),
        {of:String} = 'other', toFloat64(duration_ns - least(covered_ns, duration_ns) + custom_time_ns['view'] + custom_time_ns['middleware']),
        {of:String} = 'queue', toFloat64(ifNull(queue_ns, 0)),
        toFloat64({locked_ns:Array(UInt64)}[indexOf({spans:Array(String)}, lower(hex(span_id)))])))) AS saved_ns
SELECT
    count() AS transactions,
    countIf(saved_ns > 0) AS helped,
    sumIf(arraySum((text, calls) -> if(has({texts:Array(String)}, text), calls, 0), statement.text, statement.calls), saved_ns > 0)
        AS helped_calls,
    avg(saved_ns) AS mean_ns,
    stddevPop(saved_ns) AS deviation_ns,
    quantilesExact(0.5, 0.95)(base_ns) AS now_ns,
    quantilesExact(0.5, 0.95)(base_ns - saved_ns) AS then_ns,
    arrayMap(each -> lower(hex(each.3)), arraySlice(arrayReverseSort(
        groupArrayIf((kept != '', saved_ns, trace_id), saved_ns > 0)), 1, 3)) AS traces
FROM {source:Identifier} AS transactions
WHERE
-- include _scope.sql
