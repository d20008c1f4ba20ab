-- The number of parts of this window. Only the first row of a step is stored, whichever collector writes it.
SELECT parts, roots, spans
FROM foreign_windows
WHERE since = toDateTime({since_s:UInt32}, 'UTC') AND until = toDateTime({until_s:UInt32}, 'UTC') AND step = 'planned'
