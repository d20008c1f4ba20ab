-- Which kinds of transaction call this component on this server, and what does it cost them?
SELECT
    service,
    name,
    sum(transactions) AS transactions,
    sum(calls) AS calls,
    sum(time_ns) AS time_ns,
    sum(errors) AS errors,
    sum(hits) AS hits,
    sum(misses) AS misses,
    sum(time_ns) OVER () AS all_time_ns,
    count() OVER () AS all_kinds
FROM
(
-- include servers/_calls.sql
)
WHERE component = {component:String}
GROUP BY service, name
ORDER BY time_ns DESC, service, name
LIMIT {limit:UInt32}
