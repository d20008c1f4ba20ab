-- Which services sent transactions in this time?
SELECT DISTINCT service FROM transactions WHERE $__timeFilter(started_at) ORDER BY service LIMIT 1000
