-- How many transactions does each minute of the two windows have?
WITH
-- include why/_compared.sql
SELECT toUnixTimestamp(toStartOfMinute(started_at)) AS minute_s, count() AS transactions
FROM transactions
WHERE is_compared
GROUP BY minute_s
ORDER BY minute_s
