-- An incident is open
-- Found by the collector: a kind is slower, fails more or calls more than usual.
SELECT service, name AS kind, severity, toFloat64(count()) AS open
FROM
(
    SELECT id, service, name, severity, is_open
    FROM incidents
    ORDER BY is_open, updated_at DESC
    LIMIT 1 BY id
)
WHERE is_open
GROUP BY service, name, severity
ORDER BY service, kind
