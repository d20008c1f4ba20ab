-- The calls of the kinds of simulated_week.sql, which is stored first: queries, and lookups on two caches.
INSERT INTO targets_1m (minute, service, name, component, address, transactions, calls, time_ns, errors, hits, misses)
WITH
    (what, i, j) -> (cityHash64({seed:UInt64}, what, i, j) % 9007199254740992 + 0.5) / 9007199254740992 AS uniform,
    (what, i, j) -> sqrt(-2 * log(uniform(what, i, j))) * cos(2 * pi() * uniform(concat(what, '2'), i, j)) AS normal,
    toUInt32OrZero(splitByChar('/', name)[3]) AS kind,
    toUnixTimestamp(minute) AS at_s,
    1 + 20 * pow(uniform('calls', kind, 0), 3) AS calls_each,
    -- calls differ from transaction to transaction by their square root, and from hour to hour by 5 %
    calls_each * exp(0.05 * normal('calls drift', kind, intDiv(at_s, 3600))) AS expected_each,
    toUInt64(greatest(round(transactions * expected_each
        + sqrt(transactions) * expected_each * 0.7 * normal('called', kind, at_s)), 0)) AS calls,
    0.8 + 0.19 * uniform('ratio', kind, 0) AS usual_ratio,
    1 - (1 - usual_ratio) * exp(0.15 * normal('ratio drift', kind, intDiv(at_s, 900))) AS hit_ratio,
    least(toUInt64(greatest(round(transactions * 2 * (1 - hit_ratio)
        + sqrt(transactions * 2 * (1 - hit_ratio)) * 1.5 * normal(concat('missed', target.2), kind, at_s)), 0)),
        transactions * 2) AS misses
SELECT
    minute, service, name, target.1, target.2, transactions, if(target.1 = 'mysql.query', calls, transactions * 2), 0, 0,
    if(target.1 = 'mysql.query', 0, transactions * 2 - misses), if(target.1 = 'mysql.query', 0, misses)
FROM
(
    SELECT minute, service, name, sum(t.transactions) AS transactions
    FROM transactions_1m AS t
    WHERE minute >= toDateTime({start_s:Int64}, 'UTC') AND minute < toDateTime({start_s:Int64} + {minutes:Int64} * 60, 'UTC')
    GROUP BY minute, service, name
)
ARRAY JOIN [('mysql.query', '10.0.0.5:3306'), ('memcache.get', '10.0.0.7:11211'), ('memcache.get', '10.0.0.8:11211')] AS target
