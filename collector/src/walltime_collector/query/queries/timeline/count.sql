-- How many transactions the whole minutes of a window have.
SELECT sum(transactions) AS transactions
FROM transactions_1m
WHERE
-- include _whole_minutes.sql
