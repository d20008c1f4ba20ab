-- Which SDKs sent the transactions of the last day? Walltime's has its version in kept calls, others in their resource.
-- Of very many kept calls only those of traces with a low id are read.
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
)
GROUP BY service
ORDER BY service
