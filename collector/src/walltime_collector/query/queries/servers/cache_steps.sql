-- What did a cache say of itself, in each step of the window and in all of it? Counters are sums over `over_ns`.
SELECT
    step,
    grouping(step) AS is_whole,
-- include servers/_cache_said.sql
FROM
(
-- include servers/_said.sql
) AS s
GROUP BY step WITH ROLLUP
