-- Every collector that wrote counters recently, including this one, with its state in its last minute.
SELECT
    collector,
    argMax(host, minute) AS host,
    toUnixTimestamp(max(minute)) AS last_minute_s,
    argMax(is_ok, minute) AS is_ok,
    argMax(spooled, minute) AS spooled,
    sum(received) AS received,
    sum(stored) AS stored,
    sum(lost) AS lost
FROM walltime_health
WHERE minute >= now() - toIntervalSecond({within_s:UInt32})
GROUP BY collector
ORDER BY host, collector
