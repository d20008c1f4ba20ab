-- When did the first transaction of any application start? Statements before it have no known sender.
SELECT toInt64(toUnixTimestamp(min(minute))) * 1000000 AS first_us FROM transactions_1m WHERE service != 'walltime.doctor'
