-- How busy were the processes that served the kind? CPU time of all their transactions, and their time outside of calls, by
-- the length of the window, averaged over the transactions of the kind.
SELECT
    is_during AS is_slow,
    if(is_slow, {slow_length_ns:Int64}, {usual_length_ns:Int64}) AS length_ns,
    sum(mine * cpu_ns) / sum(mine) / length_ns AS busy,
    sum(mine * outside_ns) / sum(mine) / length_ns AS outside
FROM
(
    WITH
-- include why/_compared.sql
    SELECT
        is_in_slow_window AS is_during,
        countIf(is_compared) AS mine,
        sum(cpu_user_ns + cpu_system_ns) AS cpu_ns,
        sum(other_ns + custom_time_ns['view'] + custom_time_ns['middleware']) AS outside_ns
    FROM transactions
    WHERE service = {service:String} AND (is_in_slow_window OR is_in_usual_window)
-- include _some_minutes.sql
    GROUP BY is_during, host, instance
    HAVING mine > 0
)
GROUP BY is_during
