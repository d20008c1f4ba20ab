-- What the newest five minutes have to filter by.
SELECT
    toUnixTimestamp64Nano(max(started_at)),
    topK(1)(service)[1],
    topKIf(2)(name, service = 'shop'),
    topK(1)(host)[1],
    topK(1)(version)[1],
    topK(1)(http_status)[1],
    arraySort(groupUniqArrayIf(5)(user, user != '')),
    topKArray(1)(arrayMap(
        key -> concat(key, '=', attributes[key]),
        arrayFilter(key -> key NOT LIKE 'walltime.%' AND attributes[key] != '', mapKeys(attributes))))
FROM transactions
WHERE started_at > (SELECT max(started_at) FROM transactions) - INTERVAL 5 MINUTE
