-- Transactions of many kinds in which nothing happens that lasts: a daily rhythm, weekends, noise, drift, a batch at night,
-- heavy tails, two humps, outliers, short stalls of a whole service, low traffic; requests with thousands of calls in some
-- hours; a client whose requests all fail, and one who looks up what is in no cache. Every random number is a hash of the
-- seed.
INSERT INTO transactions
(
    trace_id, span_id, started_at, duration_ns, service, name, kind, user, is_error,
    target.component, target.address, target.calls, target.time_ns, target.errors, target.hits, target.misses
)
WITH
    (what, i, j) -> (cityHash64({seed:UInt64}, what, i, j) % 9007199254740992 + 0.5) / 9007199254740992 AS uniform,
    (what, i, j) -> sqrt(-2 * log(uniform(what, i, j))) * cos(2 * pi() * uniform(concat(what, '2'), i, j)) AS normal
SELECT
    toFixedString(concat(reinterpretAsFixedString(cityHash64({seed:UInt64}, of_all, 'trace')), reinterpretAsFixedString(of_all + 1)), 16),
    toFixedString(reinterpretAsFixedString(of_all + 1), 8),
    fromUnixTimestamp64Nano(at_s * 1000000000 + toInt64(60e9 * uniform('at', kind, of_all)), 'UTC'),
    toUInt64(least(mean_ns * shape * if(uniform('outlier', kind, of_all) < outliers, least(pow(uniform('tail', kind, of_all), -0.7) * 10, 3000), 1), 3e11)),
    concat('service-', toString(kind % 5)), concat('GET /kind/', toString(kind)), 'server',
    multiIf(is_bot, 'bot', is_crawler, 'crawler', toString(toUInt64(200 * uniform('user', kind, of_all)))),
    is_bot OR uniform('failed', kind, of_all) < error_rate,
    ['mysql.query', 'memcache.get', 'memcache.get'], ['10.0.0.5:3306', '10.0.0.7:11211', '10.0.0.8:11211'],
    [toUInt32(if(uniform('huge', kind, of_all) < huge, 5000, round(calls))), 2, 2], [0, 0, 0], [0, 0, 0],
    arrayMap(missed -> 2 - missed, [2, missed_1, missed_2]), [0, missed_1, missed_2]
FROM
(
    SELECT
        *,
        of_minute + 100000 * (kind + {kinds:UInt64} * toUInt64(at_s / 60)) AS of_all,
        is_burst = 1 AND of_minute % 2 = 1 AS is_bot,
        is_burst = 2 AND of_minute % 3 = 1 AS is_crawler,
        multiIf(
            kind % 5 = 4, pow(uniform('shape', kind, of_all), -1 / 1.2) / 6,
            kind % 5 = 3, if(uniform('hump', kind, of_all) < 0.7, 0.25, 2.75) * exp(0.3 * normal('shape', kind, of_all)),
            exp(sigma * normal('shape', kind, of_all) - sigma * sigma / 2)
        ) AS shape,
        -- calls differ by their square root, and from hour to hour by 5 %
        greatest(1, calls_each + sqrt(calls_each) * normal('calls', kind, of_all)) * exp(0.05 * normal('calls drift', kind, intDiv(at_s, 3600))) AS calls,
        if(is_crawler, 2, toUInt32(uniform('miss 1', kind, of_all) < miss) + toUInt32(uniform('miss 2', kind, of_all) < miss)) AS missed_1,
        if(is_crawler, 2, toUInt32(uniform('miss 3', kind, of_all) < miss) + toUInt32(uniform('miss 4', kind, of_all) < miss)) AS missed_2
    FROM
    (
        SELECT
            number % {kinds:UInt32} AS kind,
            {start_s:Int64} + 60 * toInt64(intDiv(number, {kinds:UInt32})) AS at_s,
            toDayOfWeek(toDateTime(at_s, 'UTC'), 1) >= 5 AS is_weekend,
            -- of a day: least at night, most in the early evening
            0.5 - 0.5 * cos(2 * pi() * ((at_s % 86400) / 86400 - 0.1)) AS rhythm,
            2 * pow({most:Float64}, uniform('rate', kind, 0)) AS most_a_minute,
            -- now and then a client comes for three minutes, whose requests fail or miss
            multiIf(uniform('bot', kind, intDiv(at_s, 180)) < 0.003, 1, uniform('crawler', kind, intDiv(at_s, 180)) < 0.003, 2, 0) AS is_burst,
            most_a_minute * (0.05 + 0.95 * rhythm) * if(is_weekend, 0.4, 1) * [1, 2, 1.5][is_burst + 1] AS rate,
            0.4 + 0.8 * uniform('sigma', kind, 0) AS sigma,
            intDiv(at_s % 86400, 60) BETWEEN 120 AND 140 AND kind % 10 = 0 AS is_batch,
            uniform('stall', kind % 5, at_s) < 0.002 AS is_stalled,
            -- the machine is a little faster or slower for ten minutes
            5e6 * pow(40, uniform('base', kind, 0)) * (0.85 + 0.3 * rhythm) * if(is_weekend, 0.9, 1)
                * exp(0.08 * normal('drift', kind % 5, intDiv(at_s, 600)))
                * if(is_batch, 3, 1) * if(is_stalled, 1 + 3 * uniform('stalled', kind % 5, at_s), 1) AS mean_ns,
            -- some kinds have several in a minute, in some hours
            if(kind % 7 = 1 AND uniform('bad hour', kind, intDiv(at_s, 3600)) < 0.3, 0.025, 0.002) AS outliers,
            if(kind % 7 = 2 AND uniform('huge hour', kind, intDiv(at_s, 3600)) < 0.3, 0.02, 0.0005) AS huge,
            0.01 * pow(uniform('errors', kind, 0), 3) AS error_rate,
            1 + 20 * pow(uniform('calls', kind, 0), 3) AS calls_each,
            (0.01 + 0.19 * uniform('ratio', kind, 0)) * exp(0.15 * normal('ratio drift', kind, intDiv(at_s, 900))) AS miss
        FROM numbers({minutes:UInt64} * {kinds:UInt64})
    )
    ARRAY JOIN range(toUInt64(greatest(round(rate + sqrt(rate) * normal('count', kind, at_s)), 0))) AS of_minute
)
