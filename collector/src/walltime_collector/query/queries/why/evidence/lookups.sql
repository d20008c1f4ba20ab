-- How many lookups of this cache, on this server, hit, missed and failed?
WITH
    arraySum(arrayMap((component, address, hits) -> if(component = {cache:String} AND address = {address:String}, toUInt64(hits), 0), target.component, target.address, target.hits)) AS hit,
    arraySum(arrayMap((component, address, misses) -> if(component = {cache:String} AND address = {address:String}, toUInt64(misses), 0), target.component, target.address, target.misses)) AS missed,
    arraySum(arrayMap((component, address, errors) -> if(component = {cache:String} AND address = {address:String}, toUInt64(errors), 0), target.component, target.address, target.errors)) AS failed,
-- include why/_compared.sql
    ,
-- include why/_weight.sql
SELECT
    if(is_slow, 'slow', 'usual') AS side,
    sum(weight) AS number,
    sum(hit * weight) AS hits,
    sum(missed * weight) AS misses,
    sum(failed * weight) AS errors,
    if(hits + misses = 0, 0, hits / (hits + misses)) AS hit_ratio,
    (misses + errors) / number AS lost_per_transaction
FROM transactions
WHERE is_compared
GROUP BY side
ORDER BY side
