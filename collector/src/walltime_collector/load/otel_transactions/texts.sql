-- Which SQL texts have the spans of this window's roots? In the order of their ids, so that the next question goes on
-- behind the last one.
SELECT cityHash64(sql_text) AS text_id, any(substringUTF8(sql_text, 1, {max_chars:UInt32})) AS text
FROM foreign_calls
WHERE sql_text != '' AND text_id > {after:UInt64}
    AND trace_id IN
    (
        SELECT trace_id
        FROM foreign_roots
        WHERE loaded_at >= toDateTime({since_s:UInt32}, 'UTC') AND loaded_at < toDateTime({until_s:UInt32}, 'UTC')
            AND cityHash64(trace_id) % {parts:UInt32} = {part:UInt32}
    )
    AND started_at BETWEEN fromUnixTimestamp64Nano({first_ns:Int64}, 'UTC')
        AND fromUnixTimestamp64Nano({last_ns:Int64}, 'UTC')
GROUP BY text_id
ORDER BY text_id
LIMIT {limit:UInt32}
