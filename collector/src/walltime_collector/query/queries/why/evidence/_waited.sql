-- The end of queries that begin with `WITH … AS one_ns`: the mean of what is known of it, and its variance. The longest 2 %,
-- and always the longest one, count as the longest of the others, so that single transactions decide nothing.
SELECT
    side,
    transactions,
    length(waits) / transactions AS known,
    arrayAvg(cut) AS wait_ns,
    greatest(0, arrayAvg(ns -> ns * ns, cut) - wait_ns * wait_ns) AS variance,
    throttled_ns,
    cpu_ns
FROM
(
    SELECT
        if(is_slow, 'slow', 'usual') AS side,
        count() AS transactions,
        arraySort(groupArray(toFloat64(one_ns))) AS waits,
        waits[greatest(1, least(toInt64(length(waits)) - 1, toInt64(ceil(0.98 * length(waits)))))] AS most_ns,
        arrayMap(ns -> least(ns, most_ns), waits) AS cut,
        avg(least(toFloat64(cpu_throttled_ns), toFloat64(cpu_wait_ns))) AS throttled_ns,
        avg(cpu_user_ns + cpu_system_ns) AS cpu_ns
    FROM transactions
    WHERE is_compared
    GROUP BY side
)
ORDER BY side
