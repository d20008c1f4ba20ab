-- What did a cache say of itself, in each step of the window and in all of it? Counters are sums over `over_ns`.
SELECT
    step,
    grouping(step) AS is_whole,
    sum(part_ns) AS over_ns,
    argMax(s.version, at) AS version,
    argMax(s.uptime_s, at) AS uptime_s,
    max(s.connections) AS most_connected,
    argMax(s.max_connections, at) AS max_connections,
    sum(s.refused_connections * part) AS refused_connections,
    max(s.bytes) AS most_bytes,
    argMax(s.max_bytes, at) AS max_bytes,
    sum(s.hits * part) AS hits,
    sum(s.misses * part) AS misses,
    sum(s.evictions * part) AS evictions,
    sum(s.expired * part) AS expired,
    sum(s.commands * part) AS commands
FROM
(
-- include servers/_said.sql
) AS s
GROUP BY step WITH ROLLUP
