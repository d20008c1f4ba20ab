-- Which transactions took about as long as most? Those next to `middle_ns`, preferably with kept calls.
SELECT
-- include scoped/_transaction_columns.sql
FROM {source:Identifier} AS transactions
WHERE
-- include _scope.sql
    AND duration_ns BETWEEN {least_ns:UInt64} AND {most_ns:UInt64}
ORDER BY abs(log((duration_ns + 1) / ({middle_ns:Float64} + 1))) + if(kept = '', 0.3, 0), started_at
LIMIT {limit:UInt32}
