-- Hit ratio by server
-- The share of the keys asked for that the server had. One alone that falls to 0 was restarted or emptied; a slow fall is memory that is too small, or keys that expire.
-- include points
SELECT time, place, series AS server, if(hits + misses = 0, NULL, hits / (hits + misses)) AS value
FROM
-- include series by=server share=hits+misses of=all
ORDER BY time, place
