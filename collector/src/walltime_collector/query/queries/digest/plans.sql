-- Which plans did servers choose for a statement, and when?
SELECT
    server, database, plan_id, toInt64(toUnixTimestamp(min(p.first_seen))) AS first_s, toInt64(toUnixTimestamp(max(p.last_seen))) AS last_s,
    any(p.shape) AS shape_text, any(p.summary) AS summary_text
FROM plans AS p
WHERE fingerprint_id = {fingerprint_id:UInt64}
GROUP BY server, database, plan_id
ORDER BY last_s DESC, first_s DESC, server, database, plan_id
LIMIT {limit:UInt32}
