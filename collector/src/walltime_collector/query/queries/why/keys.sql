-- Of each prefix of keys: lookups and hits of each transaction on each side.
WITH
-- include why/_keys.sql
SELECT prefix, is_slow, groupArray(looked_up) AS keys, groupArray(found) AS hits
FROM (SELECT prefix, is_slow, sum(lookups.keys) AS looked_up, sum(lookups.hits) AS found FROM lookups GROUP BY prefix, is_slow, trace_id)
GROUP BY prefix, is_slow
ORDER BY sum(looked_up) DESC, prefix, is_slow
LIMIT 200
