-- What did calls on one server cost, or lose, in transactions of each side during some spans of time, in the first minute of
-- these, and beside them? `lost`: lookups that missed or failed; `failed`: calls; `time_ns`: their time.
WITH
    arraySum(arrayMap((component, address, time_ns, misses, errors) -> if(component = {component:String} AND address = {address:String},
        multiIf({measure:String} = 'time_ns', time_ns, {measure:String} = 'lost', toUInt64(misses + errors), toUInt64(errors)), 0),
        target.component, target.address, target.time_ns, target.misses, target.errors)) AS amount,
    toUnixTimestamp64Nano(started_at) AS began_ns,
    arrayExists((start_ns, end_ns) -> began_ns < end_ns AND began_ns + duration_ns >= start_ns, {starts_ns:Array(Int64)}, {ends_ns:Array(Int64)}) AS is_during,
    is_during AND arrayExists(start_ns -> began_ns + duration_ns >= start_ns AND began_ns < start_ns + 60000000000, {starts_ns:Array(Int64)}) AS is_early,
-- include why/_compared.sql
    ,
-- include why/_weight.sql
SELECT
    if(is_slow, 'slow', 'usual') AS side,
    sumIf(weight, is_during) AS during,
    sumIf(weight, NOT is_during) AS beside,
    sumIf(weight, is_early) AS early,
    sumIf(weight * amount, is_during) AS amount_during,
    sumIf(weight * amount, NOT is_during) AS amount_beside,
    sumIf(weight * amount, is_early) AS amount_early,
    varPopIf(amount, is_during) AS variance_during,
    varPopIf(amount, NOT is_during) AS variance_beside
FROM transactions
WHERE is_compared
GROUP BY side
ORDER BY side
