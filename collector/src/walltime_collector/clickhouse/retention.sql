-- {table} has the TTL {expression} without its days. ClickHouse drops parts that are whole beyond the TTL; for the
-- other parts it computes only the dates again, not the data.
ALTER TABLE {table}{local}{on_cluster} MODIFY SETTING materialize_ttl_recalculate_only = 1;

ALTER TABLE {table}{local}{on_cluster} MODIFY TTL {expression} + toIntervalDay({days})
