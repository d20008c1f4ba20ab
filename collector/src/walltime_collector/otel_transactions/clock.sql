-- What time is it where `loaded_at` was written?
SELECT toUnixTimestamp(now()) AS now_s
