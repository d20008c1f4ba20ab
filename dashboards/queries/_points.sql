WITH
    -- how far apart points are: as Grafana asks, or so that one has 30 transactions; of the sums per minute where the window
    -- is longer than an hour or has very many transactions. Those know no host, environment or annotation: with one of
    -- these it is an estimate from the one in 16.
    $__conditionalAll(0, $host) AND $__conditionalAll(0, $environment) AND ${filter:singlequote} = '' AS is_in_minutes,
    assumeNotNull((
        SELECT sum(transactions)
        FROM transactions_1m
        WHERE is_in_minutes AND minute >= ($__fromTime) AND minute < ($__toTime) AND service != 'walltime.doctor'
            AND $__conditionalAll(service IN (${service:singlequote}), $service)
            AND $__conditionalAll(name IN (${kind:singlequote}), $kind)
            AND $__conditionalAll(version IN (${version:singlequote}), $version)
    )) + assumeNotNull((
        SELECT 16 * count()
        FROM (SELECT * REPLACE (name AS kind) FROM sampled_transactions)
        WHERE NOT is_in_minutes AND started_at >= from_at AND started_at < to_at
        -- include chosen
    )) AS in_window,
    greatest(
        ($__interval_s),
        if(to_s - from_s > 3600 OR in_window > 50000, 60, 1),
        least(30 / greatest(in_window, 1), 1 / 20) * (to_s - from_s)) AS least_s,
    -- the next of these
    toUInt32(-roundDown(-least_s, [-31536000, -604800, -86400, -43200, -21600, -10800, -7200, -3600, -1800, -1200, -900, -600, -300, -120, -60, -30, -20, -15, -10, -5, -2, -1])) AS point_s,
    -- include minutes
