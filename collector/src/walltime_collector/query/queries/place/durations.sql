-- How long do the transactions of this kind take, and how many of them share status, host and version with this one?
WITH if(http_status > 0, toString(http_status), if(is_error, 'failed', 'succeeded')) AS status
SELECT
    -- without this one
    greatest(toInt64(count()) - 1, 0) AS others,
    countIf(duration_ns < {duration_ns:UInt64}) AS shorter,
    greatest(toInt64(countIf(duration_ns = {duration_ns:UInt64})) - 1, 0) AS equal,
    quantilesExact(0.5, 0.95, 0.99)(duration_ns) AS percentiles_ns,
    percentiles_ns[1] AS p50_ns, percentiles_ns[2] AS p95_ns, percentiles_ns[3] AS p99_ns,
    max(duration_ns) AS max_ns,
    -- eight steps from a duration to twice as long
    sumMap([toInt16(floor(8 * log2(duration_ns + 1)))], [toUInt64(1)]) AS sums, sums.1 AS steps, sums.2 AS of_steps,
    countIf(status = {status:String}) AS same_status, uniqExact(status) AS different_status,
    approx_top_count(1)(status)[1] AS top_status, top_status.1 AS usual_status, top_status.2 AS usual_status_count,
    countIf(host = {host:String}) AS same_host, uniqExact(host) AS different_host,
    approx_top_count(1)(host)[1] AS top_host, top_host.1 AS usual_host, top_host.2 AS usual_host_count,
    countIf(version = {version:String}) AS same_version, uniqExact(version) AS different_version,
    approx_top_count(1)(version)[1] AS top_version, top_version.1 AS usual_version, top_version.2 AS usual_version_count
FROM transactions
WHERE
    service = {service:String} AND name = {kind:String}
    AND started_at >= fromUnixTimestamp64Nano({start_ns:Int64}, 'UTC') AND started_at < fromUnixTimestamp64Nano({end_ns:Int64}, 'UTC')
