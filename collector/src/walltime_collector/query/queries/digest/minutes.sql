-- Some of the minutes of a Scope in which statements with these texts were sent; a fair choice.
SELECT toUnixTimestamp(minute) AS minute_s
FROM statements_1m
WHERE text IN {texts:Array(String)} AND
-- include _whole_minutes.sql
GROUP BY minute
ORDER BY cityHash64(minute)
LIMIT {limit:UInt32}
