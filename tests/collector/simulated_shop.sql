-- Transactions of a simulated product page, straight into the table: what `why` is asked about, with known causes.
-- Every random number is a hash of (seed, transaction, what for): the same parameters make the same rows.
-- A page looks up 8 keys, 4 on each cache; a miss costs a query and a set; two queries are always made, 30 % of the pages
-- call the supplier. Times are log-normal around their means, one transaction in 200 has a Pareto tail, and the whole
-- machine is up to 10 % faster or slower from second to second; with `noise` each transaction by chance, for itself.
INSERT INTO transactions
(
    trace_id, span_id, started_at, duration_ns, service, name, kind, host, version, user, attributes, is_error, kept, sample_probability,
    queue_ns, cpu_user_ns, cpu_system_ns, covered_ns,
    mysql_query_calls, mysql_query_time_ns, mysql_query_rows,
    memcache_get_calls, memcache_get_time_ns, memcache_get_keys, memcache_get_hits, memcache_get_misses,
    memcache_set_calls, memcache_set_time_ns, http_request_calls, http_request_time_ns, http_request_errors,
    custom_calls, custom_time_ns,
    target.component, target.address, target.calls, target.time_ns, target.errors, target.hits, target.misses,
    statement.text, statement.calls, statement.time_ns, statement.errors
)
WITH
    (what, i) -> (cityHash64({seed:UInt64}, number, what, i) % 9007199254740992 + 0.5) / 9007199254740992 AS uniform,
    (what, i) -> sqrt(-2 * log(uniform(what, i))) * cos(2 * pi() * uniform(concat(what, '2'), i)) AS normal,
    -- the mean of exp(0.4 × normal) is exp(0.08)
    (what, i, mean_ns) -> mean_ns * weather * exp(0.4 * normal(what, i) - 0.08) AS took,
    [4, 4, length(query_ns), missed_1, missed_2, length(http_ns)] AS target_calls,
    column -> arrayFilter((x, calls) -> calls > 0, column, target_calls) AS used
SELECT
    toFixedString(concat(reinterpretAsFixedString(cityHash64({seed:UInt64}, number, 'trace')), reinterpretAsFixedString(number + 1)), 16),
    toFixedString(reinterpretAsFixedString(cityHash64({seed:UInt64}, number, 'span')), 8),
    fromUnixTimestamp64Nano(at_ns, 'UTC'),
    toUInt64(covered_ns) + toUInt64(other_ns),
    {service:String}, if({kinds:UInt32} = 1, {name:String}, concat({name:String}, '/', toString(number % {kinds:UInt32}))), 'server', host, version, user, if(tenant = '', map(), map('tenant', tenant)), uniform('failed', 0) < {failures:Float64}, if(uniform('kept', 0) < 0.05, 'random', ''), 0.05,
    toUInt64(80e3 * -log(uniform('queue', 0))), toUInt64(cpu_ns * 0.85), toUInt64(cpu_ns * 0.15), toUInt64(covered_ns),
    toUInt32(length(query_ns)), toUInt64(arraySum(query_ns)), toUInt64(length(query_ns) * 3),
    8, toUInt64(arraySum(get_ns)), 8, toUInt32(8 - length(missed)), toUInt32(length(missed)),
    toUInt32(length(missed)), toUInt64(arraySum(set_ns)), toUInt32(length(http_ns)), toUInt64(arraySum(http_ns)), toUInt32(http_failed),
    map('render', 1), map('render', toUInt64(render_ns)),
    used(['memcache.get', 'memcache.get', 'mysql.query', 'memcache.set', 'memcache.set', 'http.request']),
    used(arrayConcat({caches:Array(String)}, ['127.0.0.1:3306'], {caches:Array(String)}, ['127.0.0.1:8000'])),
    used(target_calls),
    used([get_1_ns, arraySum(get_ns) - get_1_ns, arraySum(query_ns), set_1_ns, arraySum(set_ns) - set_1_ns, arraySum(http_ns)]),
    used([0, 0, 0, 0, 0, http_failed]),
    used([4 - missed_1, 4 - missed_2, 0, 0, 0, 0]),
    used([missed_1, missed_2, 0, 0, 0, 0]),
    arrayMap(q -> arrayElement(texts, least(q, 10) + 1), queries),
    arrayMap(q -> toUInt32(1), queries),
    arrayMap(ns -> toUInt64(ns), query_ns),
    arrayMap(q -> toUInt32(0), queries)
FROM
(
    SELECT
        number,
        {from_ns:Int64} + toInt64(uniform('at', 0) * {length_ns:Int64}) AS at_ns,
        arrayElement({hosts:Array(String)}, 1 + toUInt32(uniform('host', 0) * length({hosts:Array(String)}))) AS host,
        arrayElement({versions:Array(String)}, 1 + toUInt32(uniform('version', 0) * length({versions:Array(String)}))) AS version,
        arrayElement({tenants:Array(String)}, 1 + toUInt32(uniform('tenant', 0) * length({tenants:Array(String)}))) AS tenant,
        multiIf({users:UInt32} = 0, '', uniform('heavy', 0) < {heavy_user:Float64}, '7', toString(1 + toUInt32(uniform('user', 0) * {users:UInt32}))) AS user,
        {seeded:String} IN (concat('host=', host), concat('version=', version), concat('tenant=', tenant), concat('user=', user)) AS is_seeded,
        if(is_seeded, {seeded_slowness:Float64}, 1) * {slowness:Float64} * (1 + 0.1 * (2 * (cityHash64({seed:UInt64}, intDiv(at_ns - {from_ns:Int64}, 1000000000), 'weather') % 1000) / 1000 - 1))
            * exp({noise:Float64} * normal('noise', 0))
            * if(uniform('tail', 0) < 0.005, least(pow(uniform('tail', 1), -0.7), 200), 1) AS weather,
        arrayFilter(k -> uniform('hit', k) >= if(k < 4, {hits_1:Float64}, {hits_2:Float64}), range(8)) AS missed,
        length(arrayFilter(k -> k < 4, missed)) AS missed_1,
        length(missed) - missed_1 AS missed_2,
        arrayMap(k -> took('get', k, if(k < 4, 120e3, 120e3 * {cache_2_slowness:Float64})), range(8)) AS get_ns,
        arraySum(arraySlice(get_ns, 1, 4)) AS get_1_ns,
        arrayMap(k -> took('set', k, 110e3), missed) AS set_ns,
        arraySum(arraySlice(set_ns, 1, missed_1)) AS set_1_ns,
        -- queries 0 and 1 are always made, the one behind key k is k + 2; `repeated` ones are all the same statement
        arrayConcat([0, 1], arrayMap(k -> k + 2, missed), arrayMap(k -> k + 10, range({repeated:UInt32}))) AS queries,
        arrayMap(q -> took('query', q, 800e3 * if(q = 1, {statement_slowness:Float64}, 1)), queries) AS query_ns,
        arrayMap(c -> took('http', c, 2e6 * {http_slowness:Float64}), range(if(uniform('http', 0) < 0.3, {http_calls:UInt32}, 0))) AS http_ns,
        length(arrayFilter(c -> uniform('http failed', c) < {http_failures:Float64}, http_ns)) AS http_failed,
        took('render', 0, 700e3) AS render_ns,
        took('other', 0, 500e3) AS idle_ns,
        took('cpu', 0, 400e3) + {more_cpu_ns:Float64} AS cpu_in_other_ns,
        idle_ns * 0.2 + cpu_in_other_ns + {more_waiting_ns:Float64} AS other_ns,
        cpu_in_other_ns + render_ns * 0.9 + length(query_ns) * 50e3 AS cpu_ns,
        arraySum(query_ns) + arraySum(get_ns) + arraySum(set_ns) + arraySum(http_ns) + render_ns AS covered_ns,
        arrayMap(q -> concat('SELECT id, name, price_cents, stock, description FROM ', arrayElement(['users', 'reviews', 'products', 'makers', 'categories', 'ratings', 'questions', 'offers', 'sellers', 'badges', 'prices'], q + 1), ' WHERE id = %s ORDER BY id DESC LIMIT 20'), range(11)) AS texts
    FROM numbers({transactions:UInt64})
)
