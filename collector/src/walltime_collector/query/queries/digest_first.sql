-- When was the first transaction of any application? Statements before it nobody could send by name.
SELECT toInt64(toUnixTimestamp(min(minute))) * 1000000 AS first_us FROM transactions_1m WHERE service != 'walltime.doctor'
