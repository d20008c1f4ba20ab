-- Which transactions took longest? Of whole minutes only those with the longest maxima are read: the slowest are in them.
SELECT
-- include scoped/_transaction_columns.sql
FROM {source:Identifier} AS transactions
WHERE
    (
        started_at < toDateTime64({minutes_start_s:Int64}, 9, 'UTC') OR started_at >= toDateTime64({minutes_end_s:Int64}, 9, 'UTC')
        OR (service, name, toStartOfMinute(started_at)) IN (
            SELECT service, name, minute
            FROM transactions_1m
            WHERE
-- include _whole_minutes.sql
            GROUP BY service, name, minute
            ORDER BY max(max_ns) DESC, minute, service, name
            LIMIT {limit:UInt32}
        )
    ) AND
-- include _scope.sql
    AND duration_ns >= {least_ns:UInt64}
ORDER BY duration_ns DESC, started_at
LIMIT {limit:UInt32}
