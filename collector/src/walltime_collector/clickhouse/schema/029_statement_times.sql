-- What a statement spent its time on at the server: locked_ns + disk_ns + computing_ns + rest_ns = query_ns. Reading from a
-- disk takes CPU time too; it counts as waiting for the disk. The rest may be the disk or a CPU where these are unknown.
-- All are computed when they are read.
ALTER TABLE slow_queries{local}{on_cluster}
    ADD COLUMN IF NOT EXISTS locked_ns UInt64 ALIAS
        least(greatest(lock_ns, row_lock_ns) + likely_row_lock_ns, query_ns),
    ADD COLUMN IF NOT EXISTS disk_ns UInt64 ALIAS least(io_wait_ns, query_ns - locked_ns),
    ADD COLUMN IF NOT EXISTS computing_ns UInt64 ALIAS least(cpu_ns, query_ns - locked_ns - disk_ns),
    ADD COLUMN IF NOT EXISTS rest_ns UInt64 ALIAS query_ns - locked_ns - disk_ns - computing_ns,
    ADD COLUMN IF NOT EXISTS is_disk_known Bool ALIAS io_wait_ns > 0
        OR hasAny(mapKeys(fields), ['thread_waits', 'InnoDB_pages_distinct', 'Engine_time']),
    ADD COLUMN IF NOT EXISTS is_cpu_known Bool ALIAS cpu_ns > 0;

-- the same, for the table that reads all shards
{cluster_only} ALTER TABLE slow_queries{on_cluster}
    ADD COLUMN IF NOT EXISTS locked_ns UInt64 ALIAS
        least(greatest(lock_ns, row_lock_ns) + likely_row_lock_ns, query_ns),
    ADD COLUMN IF NOT EXISTS disk_ns UInt64 ALIAS least(io_wait_ns, query_ns - locked_ns),
    ADD COLUMN IF NOT EXISTS computing_ns UInt64 ALIAS least(cpu_ns, query_ns - locked_ns - disk_ns),
    ADD COLUMN IF NOT EXISTS rest_ns UInt64 ALIAS query_ns - locked_ns - disk_ns - computing_ns,
    ADD COLUMN IF NOT EXISTS is_disk_known Bool ALIAS io_wait_ns > 0
        OR hasAny(mapKeys(fields), ['thread_waits', 'InnoDB_pages_distinct', 'Engine_time']),
    ADD COLUMN IF NOT EXISTS is_cpu_known Bool ALIAS cpu_ns > 0;

ALTER TABLE slow_queries{on_cluster}
    COMMENT COLUMN IF EXISTS locked_ns 'waiting for locks of all sorts, measured or likely',
    COMMENT COLUMN IF EXISTS disk_ns 'waiting for the disk; 0 where that is unknown, see is_disk_known',
    COMMENT COLUMN IF EXISTS computing_ns 'on a CPU, outside of waits for the disk; 0 where that is unknown',
    COMMENT COLUMN IF EXISTS rest_ns 'neither waiting for locks, nor known to be the disk or a CPU'
