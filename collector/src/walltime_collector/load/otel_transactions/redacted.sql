-- How many SQL texts of this window are redacted?
SELECT uniqExact(text_id) AS texts
FROM foreign_statements
WHERE since = toDateTime({since_s:UInt32}, 'UTC')
