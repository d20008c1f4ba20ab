-- Minutes of many kinds in which nothing happens: sums per minute, with a daily rhythm, weekends, noise, a batch at night,
-- outliers, short stalls of a whole service, bursts of errors and low traffic. Every random number is a hash of the seed.
INSERT INTO transactions_1m
    (minute, service, name, transactions, errors, duration_ns, max_ns)
WITH
    (what, i, j) -> (cityHash64({seed:UInt64}, what, i, j) % 9007199254740992 + 0.5) / 9007199254740992 AS uniform,
    (what, i, j) -> sqrt(-2 * log(uniform(what, i, j))) * cos(2 * pi() * uniform(concat(what, '2'), i, j)) AS normal,
    number % {kinds:UInt32} AS kind,
    {start_s:Int64} + 60 * toInt64(intDiv(number, {kinds:UInt32})) AS at_s,
    toDayOfWeek(toDateTime(at_s, 'UTC'), 1) >= 5 AS is_weekend,
    -- of a day: least at night, most in the early evening
    0.5 - 0.5 * cos(2 * pi() * ((at_s % 86400) / 86400 - 0.1)) AS rhythm,
    2 * pow(300, uniform('rate', kind, 0)) AS most_a_minute,
    most_a_minute * (0.05 + 0.95 * rhythm) * if(is_weekend, 0.4, 1) AS rate,
    toUInt64(greatest(round(rate + sqrt(rate) * normal('count', kind, at_s)), 0)) AS transactions,
    0.4 + 0.8 * uniform('sigma', kind, 0) AS sigma,
    5e6 * pow(40, uniform('base', kind, 0)) AS base_ns,
    intDiv(at_s % 86400, 60) BETWEEN 120 AND 140 AND kind % 10 = 0 AS is_batch,
    uniform('stall', kind % 5, at_s) < 0.002 AS is_stalled,
    -- the machine is a little faster or slower for ten minutes
    base_ns * (0.85 + 0.3 * rhythm) * if(is_weekend, 0.9, 1) * exp(0.08 * normal('drift', kind % 5, intDiv(at_s, 600)))
        * if(is_batch, 3, 1) * if(is_stalled, 1 + 3 * uniform('stalled', kind % 5, at_s), 1) AS mean_ns,
    mean_ns * exp(normal('mean', kind, at_s) * sqrt((exp(sigma * sigma) - 1) / greatest(transactions, 1))) AS noisy_ns,
    uniform('outlier', kind, at_s) < 1 - pow(0.998, transactions) AS has_outlier,
    if(has_outlier, mean_ns * least(pow(uniform('tail', kind, at_s), -0.7) * 10, 2000), 0) AS outlier_ns,
    0.01 * pow(uniform('errors', kind, 0), 3) * if(uniform('burst', kind, at_s) < 0.001, 30, 1) AS error_rate,
    transactions * error_rate AS expected
SELECT
    toDateTime(at_s, 'UTC'), concat('service-', toString(kind % 5)), concat('GET /kind/', toString(kind)), transactions,
    least(toUInt64(greatest(round(expected + sqrt(expected) * normal('failed', kind, at_s)), 0)), transactions),
    toUInt64(noisy_ns * transactions + outlier_ns) AS total_ns,
    least(toUInt64(greatest(noisy_ns * exp(sigma * sqrt(2 * log(transactions + 1)) - sigma * sigma / 2), outlier_ns)), total_ns)
FROM numbers({minutes:UInt64} * {kinds:UInt64})
WHERE transactions > 0
