-- What did each transaction of this kind do since it is suspicious? At most about {limit}, by chance: for each series (what
-- is measured, component, address) how many tries and their sum; its user (0: unknown), and the part of the transactions
-- of the hour before that this user made, when it is one in 100 or more.
WITH
    fromUnixTimestamp64Nano({start_s:Int64} * 1000000000, 'UTC') AS start,
    fromUnixTimestamp64Nano({end_s:Int64} * 1000000000, 'UTC') AS end,
    (
        SELECT count()
        FROM transactions
        WHERE service = {service:String} AND name = {kind:String} AND started_at >= start AND started_at < end
    ) AS all,
    (
        SELECT (groupArrayIf(user, share >= 0.01), groupArrayIf(share, share >= 0.01))
        FROM
        (
            SELECT user, count() / sum(count()) OVER () AS share
            FROM transactions
            WHERE service = {service:String} AND name = {kind:String}
                AND started_at >= start - INTERVAL 1 HOUR AND started_at < start
            GROUP BY user
        )
    ) AS usual
SELECT
    groupArray(toUnixTimestamp(started_at)) AS at_s,
    groupArray(if(user = '', 0, cityHash64(user))) AS users,
    groupArray(usual.2[indexOf(usual.1, user)]) AS usual_shares,
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
