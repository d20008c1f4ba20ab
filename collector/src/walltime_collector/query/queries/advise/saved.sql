-- How long would the transactions of these kinds take without what an advice removes? `of` says what that is in a bill: statements,
-- targets (components on servers), overlap (all but the longest of them, by server), other (with the containers `view` and
-- `middleware`), queue, or locks (the waits of the transactions with these span ids).
-- A transaction is helped if it has the fault itself: so many calls, so long each, such a part of its time. Only kinds of which
-- enough are helped, by enough time, are in the answer. A time above 4 times
-- the one that 95 of 100 do not exceed counts as that: no single transaction decides what a mean is (statistics/tails.py).
WITH
    arraySort(groupArrayIf(saved_ns, saved_ns > 0)) AS saved,
    4 * saved[length(saved) - greatest(toUInt64(ceil(0.05 * length(saved))), 1)] AS most_saved_ns,
    arraySort(groupArray(base_ns)) AS bases,
    4 * bases[length(bases) - greatest(toUInt64(ceil(0.05 * length(bases))), 1)] AS most_base_ns
SELECT
    service,
    name,
    count() AS transactions,
    countIf(calls + beside > 0) AS users,
    countIf(saved_ns > 0) AS helped,
    quantilesExactIf(0, 0.5, 1)(calls, saved_ns > 0) AS calls_of_helped,
    quantileExactIf(0.5)(time_ns / calls, saved_ns > 0) AS call_ns,
    quantileExactIf(0.5)(time_ns / base_ns, saved_ns > 0) AS part,
    quantileExactIf(0.5)(base_ns, saved_ns > 0) AS helped_base_ns,
    quantileExactIf(0.5)(used_ns, saved_ns > 0) AS cpu_ns,
    quantileExactIf(0.5)(saved_ns, saved_ns > 0) AS helped_ns,
    arraySum(each -> least(each, most_saved_ns), saved) / transactions AS mean_ns,
    sqrt(greatest(arraySum(each -> pow(least(each, most_saved_ns), 2), saved) / transactions - pow(mean_ns, 2), 0)) AS deviation_ns,
    arrayAvg(each -> least(each, most_base_ns), bases) AS base_mean_ns,
    quantileExact(0.5)(base_ns) - quantileExact(0.5)(base_ns - saved_ns) AS p50_ns,
    quantileExact(0.95)(base_ns) - quantileExact(0.95)(base_ns - saved_ns) AS p95_ns,
    arrayMap(each -> each.3, arraySlice(arraySort(
        each -> (NOT each.1, abs(each.2 - helped_ns)), groupArrayIf((is_kept, saved_ns, trace), saved_ns > 0)), 1, 3)) AS traces
FROM
(
    SELECT
        service, name, kind_key, kept != '' AS is_kept, lower(hex(trace_id)) AS trace, toFloat64(cpu_user_ns + cpu_system_ns) AS used_ns,
        base_ns, calls, beside, time_ns,
        if(({often:Int8} = 0 OR (calls >= 2 AND 2 * calls >= beside) = ({often:Int8} = 1)) AND calls >= {least_calls:UInt32} AND time_ns >= {least_call_ns:Float64} * calls AND time_ns >= {least_part:Float64} * base_ns,
            least(base_ns, greatest(0, {shares:Array(Float64)}[indexOf({kinds:Array(String)}, kind_key)]
                * (time_ns * if({is_repeated:Bool}, 1 - 1 / greatest(calls, 1), 1) - calls * {usual_ns:Float64}))),
            0) AS saved_ns
    FROM
    (
        SELECT
            service, name, kept, trace_id, cpu_user_ns, cpu_system_ns, concat(service, '\t', name) AS kind_key,
            toFloat64(duration_ns + if({of:String} = 'queue', ifNull(queue_ns, 0), 0)) AS base_ns,
            if({of:String} = 'overlap', arrayMap(
                server -> arraySum((component, address, time_ns) ->
                    if(address = server AND has({targets:Array(String)}, concat(component, '\t', address)), time_ns, 0),
                    target.component, target.address, target.time_ns),
                arrayDistinct(target.address)), []) AS by_server,
            toUInt32(multiIf(
                {of:String} = 'statements', arraySum(
                    (text, calls) -> if(has({texts:Array(String)}, text), calls, 0), statement.text, statement.calls),
                {of:String} = 'targets', arraySum(
                    (component, address, calls) -> if(has({targets:Array(String)}, concat(component, '\t', address)), calls, 0),
                    target.component, target.address, target.calls),
                {of:String} = 'overlap', arrayCount(each -> each > 0, by_server) > 1,
                {of:String} = 'queue', isNotNull(queue_ns),
                {of:String} = 'locks', has({spans:Array(String)}, lower(hex(span_id))),
                1)) AS calls,
            toUInt32(arraySum(
                (component, address, calls) -> if(has({beside:Array(String)}, concat(component, '\t', address)), calls, 0),
                target.component, target.address, target.calls)) AS beside,
            toFloat64(multiIf(
                {of:String} = 'statements', arraySum(
                    (text, time_ns) -> if(has({texts:Array(String)}, text), time_ns, 0), statement.text, statement.time_ns),
                {of:String} = 'targets', arraySum(
                    (component, address, time_ns) -> if(has({targets:Array(String)}, concat(component, '\t', address)), time_ns, 0),
                    target.component, target.address, target.time_ns),
                {of:String} = 'overlap', arraySum(by_server) - arrayMax(arrayPushBack(by_server, 0)),
                {of:String} = 'other', duration_ns - least(covered_ns, duration_ns) + custom_time_ns['view'] + custom_time_ns['middleware'],
                {of:String} = 'queue', ifNull(queue_ns, 0),
                {locked_ns:Array(UInt64)}[indexOf({spans:Array(String)}, lower(hex(span_id)))])) AS time_ns
        FROM {source:Identifier} AS transactions
        WHERE
-- include _scope.sql
    )
    WHERE kind_key IN {kinds:Array(String)}
)
GROUP BY service, name
HAVING helped >= greatest({least_helped:UInt32}, {least_users:Float64} * users)
    AND mean_ns >= greatest({least_mean_ns:UInt32}, {least_share:Float64} * base_mean_ns)
