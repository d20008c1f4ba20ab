-- For a table of ours: TABLE, its TTL without the days, and the days. Parts that are whole beyond it are dropped; of the
-- others only the dates are computed anew, not the data.
ALTER TABLE TABLE MODIFY SETTING materialize_ttl_recalculate_only = 1;

ALTER TABLE TABLE MODIFY TTL EXPRESSION + toIntervalDay(DAYS)
