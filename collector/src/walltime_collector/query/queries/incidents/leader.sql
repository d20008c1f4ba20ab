-- Which of the collectors that wrote counters lately looks for incidents?
SELECT min(collector) AS collector
FROM walltime_health
WHERE minute BETWEEN toDateTime({now_s:Int64} - 180, 'UTC') AND toDateTime({now_s:Int64} + 180, 'UTC')
