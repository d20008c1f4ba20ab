-- Load by kind
-- Average active statements: how many calls of MySQL transactions wait for at once, and for which kind. A click on a kind shows it.
-- include points
SELECT time, place, series AS kind, time_ns / 1e9 / seconds AS active
FROM
-- include series by=kind share=of_time of=all
ORDER BY time, place
