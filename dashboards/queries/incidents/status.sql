-- Status
-- How many incidents there are, or why none.
SELECT
    multiIf(
        found > 0, concat(
            toString(open), if(open = 1, ' incident is open, ', ' incidents are open, '), toString(found - open), ' of this time ',
            if(found - open = 1, 'is', 'are'), ' over', if(critical = 0, '', concat('; ', toString(critical), ' critical')), '.'),
        (SELECT count() FROM incidents) > 0, 'All is as usual: there is no incident of what is chosen above in this time.',
        (SELECT count() FROM transactions_1m WHERE service != 'walltime.doctor') > 0, 'There was never an incident: all kinds were as usual.',
        -- include nothing_stored
    ) AS "sentence"
FROM
(
    SELECT count() AS found, countIf(is_open) AS open, countIf(severity = 'critical') AS critical
    FROM
    -- include incidents
)
