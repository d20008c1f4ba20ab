WITH
    -- how far apart points are: as Grafana asks, or so that one has 30 transactions; of the sums per minute where the window
    -- is longer than an hour or has very many transactions
    (
        SELECT sum(n)
        FROM
        (
            SELECT sum(transactions) AS n
            FROM transactions_1m
            WHERE $__conditionalAll(0, $host) AND $__conditionalAll(0, $environment) AND ${filter:singlequote} = ''
                AND minute >= ($__fromTime) AND minute < ($__toTime)
                AND $__conditionalAll(service IN (${service:singlequote}), $service)
                AND $__conditionalAll(name IN (${kind:singlequote}), $kind)
                AND $__conditionalAll(version IN (${version:singlequote}), $version)
            UNION ALL
            SELECT count()
            FROM kinds_each
            WHERE NOT ($__conditionalAll(0, $host) AND $__conditionalAll(0, $environment) AND ${filter:singlequote} = '')
                AND started_at >= from_at AND started_at < to_at
                -- include chosen
        )
    ) AS in_window,
    to_s - from_s AS window_s,
    greatest(
        ($__interval_s),
        if(window_s > 3600 OR in_window > 50000, 60, 1),
        least(30 * window_s / greatest(in_window, 1), window_s / 20)) AS least_s,
    assumeNotNull((
        SELECT min(step)
        FROM (SELECT arrayJoin([1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 900, 1200, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 604800, 31536000]) AS step)
        WHERE step >= least_s
    )) AS point_s,
    -- include minutes
