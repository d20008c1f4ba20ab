-- The seconds in which a server let the collector wait much longer than in most others.
WITH
    (
        SELECT median(others['ping_ns'] / others['pings'])
        FROM cache_status
        WHERE server = {server:String} AND at >= fromUnixTimestamp64Nano({usual_start_ns:Int64}, 'UTC')
            AND at < fromUnixTimestamp64Nano({usual_end_ns:Int64}, 'UTC')
    ) AS usual_ns
SELECT
    toUnixTimestamp64Milli(at) * 1000000 - over_ns AS start_ns,
    toUnixTimestamp64Milli(at) * 1000000 AS end_ns,
    usual_ns,
    others['ping_ns'] / others['pings'] AS now_ns
FROM cache_status
WHERE server = {server:String} AND at >= fromUnixTimestamp64Nano({slow_start_ns:Int64}, 'UTC')
    AND at < fromUnixTimestamp64Nano({slow_end_ns:Int64}, 'UTC') AND now_ns > greatest(5 * usual_ns, usual_ns + 1e6)
ORDER BY at
LIMIT 10000
