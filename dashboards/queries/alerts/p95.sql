-- p95 of a kind is twice its usual
-- The p95 of the last 10 minutes, divided by that of the same 10 minutes and an hour around them of the last 7 days; kinds with at least 50 transactions in both.
SELECT service, kind, now_is / before AS ratio
FROM
(
    SELECT
        service, kind,
        quantilesTDigestMergeIf(0.5, 0.95, 0.99)(percentiles_ns, minute >= now() - INTERVAL 10 MINUTE)[2] AS now_is,
        quantilesTDigestMergeIf(0.5, 0.95, 0.99)(percentiles_ns, minute < now() - INTERVAL 12 HOUR)[2] AS before,
        sumIf(k.transactions, minute >= now() - INTERVAL 10 MINUTE) AS number,
        sumIf(k.transactions, minute < now() - INTERVAL 12 HOUR) AS number_before
    FROM kinds_by_minute AS k
    WHERE minute >= now() - INTERVAL 8 DAY AND service != 'walltime.doctor'
        AND (minute >= now() - INTERVAL 10 MINUTE
            OR minute < now() - INTERVAL 12 HOUR AND (toUnixTimestamp(now()) - toUnixTimestamp(minute) + 1800) % 86400 < 4200)
    GROUP BY service, kind
)
WHERE number >= 50 AND number_before >= 50 AND before > 0
ORDER BY ratio DESC
