-- Which transactions took about as long as most? Those next to `middle_ns`, preferably with kept calls.
-- Of very many transactions only those of every n-th step are looked at.
SELECT
-- include scoped/_transaction_columns.sql
FROM {source:Identifier} AS transactions
WHERE
-- include _scope.sql
    AND ({every:UInt32} = 1 OR intDiv(toUnixTimestamp64Nano(started_at) - {start_ns:Int64}, {step_ns:Int64}) % {every:UInt32} = 0)
    AND duration_ns BETWEEN {least_ns:UInt64} AND {most_ns:UInt64}
ORDER BY abs(log((duration_ns + 1) / ({middle_ns:Float64} + 1))) + if(kept = '', 0.3, 0), started_at
LIMIT {limit:UInt32}
