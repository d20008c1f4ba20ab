    -- the transactions of a Scope that are not in its whole minutes (Scope.divided)
    (started_at < toDateTime64({minutes_start_s:Int64}, 9, 'UTC') OR started_at >= toDateTime64({minutes_end_s:Int64}, 9, 'UTC')) AND
-- include _scope.sql
