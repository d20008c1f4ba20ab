-- What did each transaction of this kind do since it is suspicious? At most about {limit}, by chance: for each series (what
-- is measured, component, address) how many tries and their sum; and `rare` has the user of those that are of a user
-- who makes less than one in twenty of the transactions of the hour before, otherwise 0.
WITH
    fromUnixTimestamp64Nano({start_s:Int64} * 1000000000, 'UTC') AS start,
    fromUnixTimestamp64Nano({end_s:Int64} * 1000000000, 'UTC') AS end,
    (
        SELECT count()
        FROM transactions
        WHERE service = {service:String} AND name = {kind:String} AND started_at >= start AND started_at < end
    ) AS all,
    (
        SELECT (groupArrayIf(user, times * 20 >= known), sum(times))
        FROM
        (
            SELECT user, count() AS times, sum(times) OVER () AS known
            FROM transactions
            WHERE service = {service:String} AND name = {kind:String}
                AND started_at >= start - INTERVAL 1 HOUR AND started_at < start
            GROUP BY user
        )
    ) AS usual_users
SELECT
    groupArray(toUnixTimestamp(started_at)) AS at_s,
    groupArray(if(user = '' OR has(usual_users.1, user), 0, cityHash64(user))) AS rare,
    groupArray(arrayMap((measure, component, address) -> multiIf(
        measure = 'time', [1, duration_ns],
        measure = 'errors', [1, toUInt64(is_error)],
        measure = 'calls', [1, arraySum((calls, of) -> if(of = component, calls, 0), target.calls, target.component)],
        [
            arraySum((hits, misses, of, at) -> if(of = component AND at = address, hits + misses, 0), target.hits, target.misses, target.component, target.address),
            arraySum((misses, of, at) -> if(of = component AND at = address, misses, 0), target.misses, target.component, target.address)
        ]), {measures:Array(String)}, {components:Array(String)}, {addresses:Array(String)})) AS samples
FROM transactions
WHERE service = {service:String} AND name = {kind:String} AND started_at >= start AND started_at < end
    AND cityHash64(trace_id) % greatest(intDiv(all, {limit:UInt64}), 1) = 0
