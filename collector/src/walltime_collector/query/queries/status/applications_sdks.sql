-- Which SDKs sent the transactions of the last day? Walltime's has its version in kept calls and in the resource, others
-- in the resource. Of very many kept calls only those of traces with a low id are read; of Walltime's resources, which
-- each transaction has, those of each service's last minute.
SELECT service, groupUniqArray(5)(sdk) AS sdks
FROM
(
    SELECT service, concat('walltime ', scope_version) AS sdk
    FROM spans
    WHERE started_at >= now() - INTERVAL 1 DAY AND trace_id <= unhex({below:String}) AND scope_name = 'walltime' AND scope_version != ''
    GROUP BY service, scope_version
    UNION ALL
    SELECT
        service,
        concat(resource['telemetry.sdk.name'], ' ', resource['telemetry.sdk.language'], ' ', resource['telemetry.sdk.version']) AS sdk
    FROM transactions
    WHERE started_at >= now() - INTERVAL 1 DAY AND kept = 'foreign' AND resource['telemetry.sdk.version'] != ''
    GROUP BY service, sdk
    UNION ALL
    SELECT service, trimRight(concat('walltime ', resource['telemetry.distro.version'])) AS sdk
    FROM transactions
    WHERE started_at >= now() - INTERVAL 1 DAY AND kept != 'foreign' AND (service, toStartOfMinute(started_at)) IN (
        SELECT service, max(minute) FROM transactions_1m WHERE minute >= now() - INTERVAL 1 DAY GROUP BY service
    )
    GROUP BY service, sdk
)
GROUP BY service
ORDER BY service
