-- Which services sent transactions in the last week, when did they last, and what did their last day look like?
-- uncovered_ns is in no component but the containers `view` and `middleware`; sampled_ns of it is on a sampled line.
SELECT
    service,
    toUnixTimestamp(min(minute)) AS first_minute_s,
    toUnixTimestamp(max(minute)) AS last_minute_s,
    sumIf(each.transactions, minute >= now() - INTERVAL 1 DAY) AS transactions,
    sumIf(each.errors, minute >= now() - INTERVAL 1 DAY) AS errors,
    sumIf(each.duration_ns, minute >= now() - INTERVAL 1 DAY) AS time_ns,
    sumIf(each.uncovered_ns, minute >= now() - INTERVAL 1 DAY) AS uncovered_ns,
    uncovered_ns - least(uncovered_ns, sumIf(each.sampled_ns, minute >= now() - INTERVAL 1 DAY)) AS other_ns,
    sumIf(each.transactions, minute >= now() - INTERVAL 1 DAY AND name IN {methods:Array(String)}) AS without_route,
    uniqExactIf(minute, minute >= now() - INTERVAL 1 DAY) AS busy_minutes
FROM
(
-- include _uncovered_minutes.sql
) AS each
WHERE minute >= now() - INTERVAL 7 DAY AND service != 'walltime.doctor'
GROUP BY service
ORDER BY last_minute_s DESC, service
LIMIT 200
