-- Which kinds of transaction keep a database busy, in each step of the window? Those with most time in its components, and
-- all others in one row without a name.
SELECT
    if(place <= {limit:UInt32}, service, '') AS of_service,
    if(place <= {limit:UInt32}, name, '') AS of_name,
    min(place) AS first,
    count() AS kinds,
    sumMap(k.time_ns) AS time_ns
FROM
(
    SELECT
        service, name, sumMap(map(step, c.time_ns)) AS time_ns,
        row_number() OVER (ORDER BY sum(c.time_ns) DESC, service, name) AS place
    FROM
    (
-- include servers/_calls.sql
    ) AS c
    WHERE startsWith(component, {system:String})
    GROUP BY service, name
) AS k
GROUP BY of_service, of_name
ORDER BY first
