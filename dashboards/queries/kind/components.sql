-- The average transaction, and the one of the time before
-- `before` is the time of the same length before the one shown. A change of the time alone: the same calls take longer. A change of both: look at what calls them.
-- include window
SELECT
    component AS "component",
    now_is.ns / now_is.number AS "per transaction",
    now_is.ns / nullIf(sum(now_is.ns) OVER (), 0) AS "share",
    earlier.ns / nullIf(earlier.number, 0) AS "before",
    "per transaction" / nullIf("before", 0) - 1 AS "change",
    nullIf(now_is.called, 0) / now_is.number AS "calls each",
    nullIf(earlier.called, 0) / nullIf(earlier.number, 0) AS "calls before",
    now_is.ns / nullIf(now_is.called, 0) AS "per call",
    nullIf(now_is.failures, 0) AS "errors"
FROM
    -- include components_of
    AS now_is
LEFT JOIN
    (
        -- include before
        SELECT * FROM
        -- include components_of
    ) AS earlier
    USING (component)
ORDER BY "per transaction" DESC
LIMIT 100
