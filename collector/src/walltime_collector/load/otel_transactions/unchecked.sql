-- The windows that were assembled long enough ago to be checked for late spans.
SELECT toUnixTimestamp(since) AS since_s, toUnixTimestamp(until) AS until_s
FROM foreign_windows
WHERE until <= now() - {late_s:UInt32} AND since >= now() - INTERVAL 1 DAY
GROUP BY since, until
HAVING countIf(step = 'assembled') > 0 AND countIf(step = 'checked') = 0
ORDER BY since
LIMIT 100
