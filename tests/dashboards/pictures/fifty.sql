-- Every kind ten times under other paths, each with fewer transactions than the one before.
INSERT INTO transactions
SELECT * EXCEPT (copy, word) REPLACE (
    sipHash128(trace_id, copy) AS trace_id,
    if(position(name, ' /') > 0, replaceOne(name, ' /', concat(' /', word, '/')), concat(name, ' ', word)) AS name)
FROM
(
    SELECT *, copied.1 AS copy, copied.2 AS word
    FROM transactions
    ARRAY JOIN arrayZip(range(1, 10), [
        'api/v1', 'admin', 'partners/{partner}', 'b2b', 'mobile', 'internal/reports/export', 'eu', 'search',
        'beta-programme-with-a-long-name'
    ]) AS copied
)
WHERE cityHash64(trace_id, copy) % (copy + 1) = 0
