-- Into how many parts does this window go? The first row of a step stays, whoever else writes one.
SELECT parts, roots, spans
FROM foreign_windows
WHERE since = toDateTime({since_s:UInt32}, 'UTC') AND until = toDateTime({until_s:UInt32}, 'UTC') AND step = 'planned'
