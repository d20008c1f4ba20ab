-- Statements on one side only
-- What a new version sends, or no longer sends.
SELECT
    statement AS "statement",
    if(earlier.called = 0, 'new', 'gone') AS "verdict",
    greatest(now_is.called, earlier.called) AS "calls",
    greatest(now_is.ns, earlier.ns) / nullIf("calls", 0) AS "per call",
    greatest(now_is.ns, earlier.ns) AS "time"
FROM
    (
        -- include now
        -- include statements_of of=new_version is=$new_version
    ) AS now_is
FULL JOIN
    (
        -- include then
        -- include statements_of of=old_version is=$old_version
    ) AS earlier
    USING (statement)
WHERE now_is.called = 0 OR earlier.called = 0
ORDER BY "time" DESC
LIMIT 100
