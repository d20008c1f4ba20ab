-- The counters of all collectors over time: sums of each step, and the most that waited in it.
SELECT
    start_s,
    sum(each.received) AS received, sum(each.stored) AS stored, sum(each.rejected) AS rejected,
    sum(each.dead) AS dead, sum(each.lost) AS lost, sum(each.refused) AS refused,
    sum(each.most_bytes) AS spool_bytes, max(each.oldest_s) AS oldest_s
FROM
(
    SELECT
        toUnixTimestamp(toStartOfInterval(minute, toIntervalSecond({step_s:UInt32}), 'UTC')) AS start_s,
        collector,
        sum(h.received) AS received, sum(h.stored) AS stored, sum(h.rejected) AS rejected,
        sum(h.dead) AS dead, sum(h.lost) AS lost, sum(h.refused) AS refused,
        max(h.spool_bytes) AS most_bytes, max(h.spool_oldest_s) AS oldest_s
    FROM walltime_health AS h
    WHERE minute >= toDateTime({start_s:Int64}, 'UTC') AND minute < toDateTime({end_s:Int64}, 'UTC')
    GROUP BY start_s, collector
) AS each
GROUP BY start_s
ORDER BY start_s
