-- How many transactions began in each minute, of all hosts, versions …?
SELECT toUnixTimestamp(minute) AS minute_s, sum(transactions) AS transactions
FROM transactions_1m
WHERE
-- include _whole_minutes.sql
GROUP BY minute
