-- Which plans did servers choose for a statement, and when?
SELECT
    server, database, plan_id, toUnixTimestamp64Milli(min(p.first_seen)) AS first_ms, toUnixTimestamp64Milli(max(p.last_seen)) AS last_ms,
    any(p.shape) AS shape_text, any(p.summary) AS summary_text
FROM plans AS p
WHERE fingerprint_id = {fingerprint_id:UInt64}
GROUP BY server, database, plan_id
ORDER BY last_ms DESC, first_ms DESC, server, database, plan_id
LIMIT {limit:UInt32}
