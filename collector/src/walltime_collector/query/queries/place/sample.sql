-- What did a sample of the transactions of this kind spend their time on? An array for each counter.
-- One in `every`, chosen by their ids.
SELECT
    count() AS transactions,
    groupArray(other_ns) AS other_ns,
    groupArray(cpu_user_ns + cpu_system_ns) AS cpu_ns,
    groupArray(transactions.cpu_wait_ns) AS cpu_wait_ns,
    groupArray(transactions.loop_wait_ns) AS loop_wait_ns,
    groupArray(queue_ns) AS queue_ns,
    COLUMNS('_(calls|time_ns|errors|misses)$') EXCEPT (custom_calls, custom_time_ns, custom_errors) APPLY groupArray,
    groupArray(custom_calls) AS custom_calls,
    groupArray(custom_time_ns) AS custom_time_ns,
    groupArray(custom_errors) AS custom_errors,
    groupArray(more_counters) AS more_counters
FROM {source:Identifier} AS transactions
WHERE
-- include _scope.sql
    -- an empty one is no filter above
    AND service = {service:String} AND name = {kind:String}
    AND cityHash64(span_id) % {every:UInt64} = 0 AND span_id != unhex({span_id:String})
