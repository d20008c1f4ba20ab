-- Which incidents were there in the time shown? An annotation: its time, its text and its tags.
SELECT
    started_at AS "time",
    ended_at AS "timeEnd",
    concat(service, ': ', name) AS "title",
    headline AS "text",
    severity AS "tags"
FROM incidents FINAL
WHERE started_at <= ($__toTime) AND ended_at >= ($__fromTime)
ORDER BY started_at
