-- of the last hour, and of a sixteenth of the transactions before: one that has few of them may be missing
-- include window
SELECT {of}
FROM
(
    SELECT {of}
    FROM transactions
    WHERE started_at >= greatest(from_at, to_at - INTERVAL 1 HOUR) AND started_at < to_at AND service != 'walltime.doctor'
        AND $__conditionalAll(service IN (${service:singlequote}), $service)
    UNION DISTINCT
    SELECT {of}
    FROM sampled_transactions
    WHERE started_at >= from_at AND started_at < to_at AND service != 'walltime.doctor'
        AND $__conditionalAll(service IN (${service:singlequote}), $service)
)
WHERE {of} != ''
ORDER BY {of}
LIMIT 1000
