-- How many transactions of each step of time took how long? Bins of equal width on a logarithmic scale, `bins` per factor of 10.
SELECT
    toUInt32(intDiv(toUnixTimestamp64Nano(started_at) - {start_ns:Int64}, {step_ns:Int64})) AS step,
    toInt16(floor(log10(greatest(duration_ns, 1)) * {bins:UInt8})) AS bin,
    count() AS transactions,
    sum(duration_ns) AS total_ns
FROM {source:Identifier} AS transactions
WHERE
-- include _scope.sql
GROUP BY step, bin
ORDER BY step, bin
