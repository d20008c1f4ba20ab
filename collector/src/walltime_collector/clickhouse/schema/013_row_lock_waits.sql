-- MariaDB does not log how long a statement waited for a row lock, only its time in the storage engine (Engine_time, in
-- milliseconds). Time there that neither reading from disk nor the accessed pages explain (at most 200 µs a page) was
-- most likely such a wait. Less than 5 ms is noise and becomes 0, and so does a wait that the server logs itself. Both
-- columns are computed when they are read.
ALTER TABLE slow_queries{local}{on_cluster}
    ADD COLUMN IF NOT EXISTS unexplained_engine_ns Int64 ALIAS
        toInt64(least(toUInt64(toFloat64OrZero(fields['Engine_time']) * 1000000), query_ns))
        - toInt64(io_wait_ns) - toInt64(toUInt64OrZero(fields['Pages_accessed'])) * 200000,
    ADD COLUMN IF NOT EXISTS likely_row_lock_ns UInt64 ALIAS
        if(row_lock_ns = 0 AND unexplained_engine_ns >= 5000000, toUInt64(unexplained_engine_ns), 0);

-- the same, for the table that reads all shards
{cluster_only} ALTER TABLE slow_queries{on_cluster}
    ADD COLUMN IF NOT EXISTS unexplained_engine_ns Int64 ALIAS
        toInt64(least(toUInt64(toFloat64OrZero(fields['Engine_time']) * 1000000), query_ns))
        - toInt64(io_wait_ns) - toInt64(toUInt64OrZero(fields['Pages_accessed'])) * 200000,
    ADD COLUMN IF NOT EXISTS likely_row_lock_ns UInt64 ALIAS
        if(row_lock_ns = 0 AND unexplained_engine_ns >= 5000000, toUInt64(unexplained_engine_ns), 0)
