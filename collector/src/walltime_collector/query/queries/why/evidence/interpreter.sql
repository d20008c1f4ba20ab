-- While a transaction of the kind ran, how many ran in its process, and for which part of the time did the others compute? CPU time
-- counts as spread evenly over its transaction. Of a trace in a process one transaction counts: one inside another has its thread.
-- Of very many transactions some minutes of some processes are read.
WITH
-- include why/_compared.sql
SELECT
    if(is_during_slow, 'slow', 'usual') AS side,
    sum(mine) AS transactions,
    sum(on_loop) / transactions AS on_loop_share,
    sum(open_ns) / sum(mine_ns) AS at_a_time,
    sum(mine_cpu_ns) / sum(mine_ns) AS own,
    sum(computed_ns) / sum(mine_ns) - own AS others
FROM
(
    SELECT
        is_during_slow,
        countIf(is_mine) AS mine,
        countIf(is_mine AND is_on_loop) AS on_loop,
        sumIf(ended_ns - started_ns, is_mine) AS mine_ns,
        sumIf(one_cpu_ns, is_mine) AS mine_cpu_ns,
        -- beginnings and ends in the order of time; the integrals until each of them of how many run and how many compute
        arraySort(arrayConcat(
            groupArray((started_ns, 1, one_cpu_ns / (ended_ns - started_ns), is_mine)),
            groupArray((ended_ns, -1, -one_cpu_ns / (ended_ns - started_ns), is_mine)))) AS edges,
        arrayDifference(edges.1) AS gaps_ns,
        arrayCumSum((gap_ns, level, own) -> gap_ns * (level - own), gaps_ns, arrayCumSum(edges.2), edges.2) AS all_open_ns,
        arrayCumSum((gap_ns, level, own) -> gap_ns * (level - own), gaps_ns, arrayCumSum(edges.3), edges.3) AS all_computed_ns,
        arraySum((edge, ns) -> if(edge.4, -edge.2 * ns, 0), edges, all_open_ns) AS open_ns,
        arraySum((edge, ns) -> if(edge.4, -edge.2 * ns, 0), edges, all_computed_ns) AS computed_ns
    FROM
    (
        SELECT
            is_in_slow_window AS is_during_slow,
            is_compared AS is_mine,
            loop_run_ns IS NOT NULL AS is_on_loop,
            host, instance, resource['process.pid'] AS pid,
            toFloat64(toUnixTimestamp64Nano(started_at) - least({slow_start_ns:Int64}, {usual_start_ns:Int64})) AS started_ns,
            started_ns + greatest(duration_ns, 1) AS ended_ns,
            toFloat64(least(assumeNotNull(cpu_user_ns + cpu_system_ns), duration_ns)) AS one_cpu_ns
        FROM transactions
        WHERE service = {service:String} AND (is_in_slow_window OR is_in_usual_window) AND isNotNull(cpu_user_ns)
-- include _some_minutes.sql
            AND cityHash64(host, instance, toStartOfMinute(started_at)) % (
                SELECT greatest(1, intDiv(count(), 100000))
                FROM transactions
                WHERE service = {service:String} AND (is_in_slow_window OR is_in_usual_window)
-- include _some_minutes.sql
            ) = 0
        ORDER BY is_mine DESC
        LIMIT 1 BY trace_id, is_during_slow, host, instance, pid
    )
    GROUP BY is_during_slow, host, instance, pid
    HAVING mine > 0
)
GROUP BY is_during_slow
ORDER BY side
