-- Which values do the filters have, most frequently in the last hour? Not of users: they are many, and people.
SELECT
    arraySort(topKIf(50)(transactions.service, transactions.service != 'walltime.doctor')) AS service,
    arraySort(topKIf(50)(name, transactions.service != 'walltime.doctor')) AS kind,
    arraySort(topKIf(50)(transactions.host, transactions.host != '')) AS host,
    arraySort(topKIf(50)(transactions.version, transactions.version != '')) AS version,
    arraySort(topKIf(50)(transactions.environment, transactions.environment != '')) AS environment,
    arraySort(topKIf(50)(toString(http_status), http_status != 0)) AS status
FROM transactions
WHERE started_at >= now64(9) - INTERVAL 1 HOUR AND started_at <= now64(9)
