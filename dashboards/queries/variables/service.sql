SELECT DISTINCT service FROM transactions_1m WHERE minute >= toStartOfMinute(($__fromTime)) AND minute <= ($__toTime) AND service != 'walltime.doctor' ORDER BY service LIMIT 1000
