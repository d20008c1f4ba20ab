-- Which advice is dismissed now, since when, until when, and why?
SELECT
    id,
    toUnixTimestamp64Milli(max(dismissed_advice.decided_at)) AS decided_ms,
    toUnixTimestamp(argMax(dismissed_advice.until, dismissed_advice.decided_at)) AS until_s,
    argMax(dismissed_advice.why, dismissed_advice.decided_at) AS why,
    argMax(dismissed_advice.change, dismissed_advice.decided_at) AS change
FROM dismissed_advice
GROUP BY id
HAVING until_s > {now_s:Int64}
ORDER BY decided_ms DESC, id
