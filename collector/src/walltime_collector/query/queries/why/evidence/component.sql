-- What did one component cost each side? `overlap` is what calls that ran at the same time saved, as negative time.
WITH
    arrayConcat(
        [('mysql.connect', toUInt64(mysql_connect_calls), mysql_connect_time_ns, toUInt64(0), toUInt64(mysql_connect_errors)),
         ('mysql.query', toUInt64(mysql_query_calls), mysql_query_time_ns, mysql_query_rows, toUInt64(mysql_query_errors)),
         ('mysql.fetch', toUInt64(mysql_fetch_calls), mysql_fetch_time_ns, mysql_fetch_rows, toUInt64(mysql_fetch_errors)),
         ('mysql.commit', toUInt64(mysql_commit_calls), mysql_commit_time_ns, toUInt64(0), toUInt64(mysql_commit_errors)),
         ('memcache.connect', toUInt64(memcache_connect_calls), memcache_connect_time_ns, toUInt64(0), toUInt64(memcache_connect_errors)),
         ('memcache.get', toUInt64(memcache_get_calls), memcache_get_time_ns, toUInt64(0), toUInt64(memcache_get_errors)),
         ('memcache.set', toUInt64(memcache_set_calls), memcache_set_time_ns, toUInt64(0), toUInt64(memcache_set_errors)),
         ('memcache.delete', toUInt64(memcache_delete_calls), memcache_delete_time_ns, toUInt64(0), toUInt64(memcache_delete_errors)),
         ('memcache.incr', toUInt64(memcache_incr_calls), memcache_incr_time_ns, toUInt64(0), toUInt64(memcache_incr_errors)),
         ('http.connect', toUInt64(http_connect_calls), http_connect_time_ns, toUInt64(0), toUInt64(http_connect_errors)),
         ('http.request', toUInt64(http_request_calls), http_request_time_ns, toUInt64(0), toUInt64(http_request_errors))],
        arrayMap(name -> (toString(name), custom_calls[name], custom_time_ns[name], toUInt64(0), custom_errors[name]), mapKeys(custom_time_ns))) AS parts,
    multiIf(
        {component:String} = 'other', toInt64(other_ns),
        {component:String} = 'overlap', toInt64(duration_ns) - toInt64(other_ns) - toInt64(arraySum(parts.3)),
        toInt64(arraySum(arrayMap(part -> if(part.1 = {component:String}, part.3, 0), parts)))) AS mine_ns,
    arrayFirst(part -> part.1 = {component:String}, parts) AS mine,
-- include why/_compared.sql
    ,
-- include why/_weight.sql
SELECT
    if(is_slow, 'slow', 'usual') AS side,
    sum(weight) AS number,
    sum(mine.2 * weight) AS calls,
    sum(mine_ns * weight) AS time_ns,
    varPop(mine.2) AS calls_variance,
    varPop(mine_ns) AS time_variance,
    sum(mine.4 * weight) AS rows,
    sum(mine.5 * weight) AS errors,
    calls / number AS calls_per_transaction,
    time_ns / number AS time_ns_per_transaction,
    if(calls = 0, 0, time_ns / calls) AS time_ns_per_call,
    if(calls = 0, 0, rows / calls) AS rows_per_call
FROM transactions
WHERE is_compared
GROUP BY side
ORDER BY side
