-- What the processes of each service reported as lost since yesterday, and their calls outside of any transaction.
SELECT service, what, sum(each.count) AS count, count() AS processes
FROM
(
    SELECT service, host, instance, what, max(sdk_losses.count) AS count
    FROM sdk_losses
    WHERE day >= today() - 1
    GROUP BY service, host, instance, what
) AS each
GROUP BY service, what
ORDER BY service, what
