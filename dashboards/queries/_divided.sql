    toDateTime64(from_s, 9, 'UTC') AS from_at,
    toDateTime64(to_s, 9, 'UTC') AS to_at,
    -- the whole minutes of the window, or none: their sums know no host, environment or annotation
    $__conditionalAll(0, $host) AND $__conditionalAll(0, $environment) AND ${filter:singlequote} = ''
        AND point_s % 60 = 0 AND intDiv(from_s + 59, 60) < intDiv(to_s, 60) AS has_minutes,
    if(has_minutes, intDiv(from_s + 59, 60) * 60, to_s) AS minutes_from_s,
    if(has_minutes, intDiv(to_s, 60) * 60, to_s) AS minutes_to_s
