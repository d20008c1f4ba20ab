-- Failed requests by host
-- The share of the requests without an answer, or with a status of 500 or more.
-- include points
SELECT time, place, series AS server, nullIf(errors, 0) / calls AS value
FROM
-- include series by=server share=calls of=all
ORDER BY time, place
