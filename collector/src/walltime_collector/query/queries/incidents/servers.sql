-- What did each kind call on each server in each minute of this time?
SELECT service, name, groupArray((component, address, step, calls, hits, misses)) AS servers
FROM
(
    SELECT
        toUnixTimestamp(minute) AS step,
        service,
        name,
        component,
        address,
        sum(t.calls) AS calls,
        sum(t.hits) AS hits,
        sum(t.misses) AS misses
    FROM targets_1m AS t
    WHERE minute >= toDateTime({start_s:Int64}, 'UTC') AND minute < toDateTime({end_s:Int64}, 'UTC')
        AND service != 'walltime.doctor'
    GROUP BY step, service, name, component, address
)
GROUP BY service, name
