-- The time of the database's clock, which `loaded_at` was written with.
SELECT toUnixTimestamp(now()) AS now_s
