-- Transactions and time of each population by class of status; without an HTTP status, by whether they failed.
WITH
-- include why/_compared.sql
SELECT
    is_slow,
    multiIf(http_status > 0, concat(toString(intDiv(http_status, 100)), 'xx'), is_error, 'failed', 'no status') AS status,
    count() AS transactions,
    sum(duration_ns) AS total_ns
FROM transactions
WHERE is_compared
GROUP BY is_slow, status
ORDER BY is_slow, status
