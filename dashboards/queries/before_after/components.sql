-- Components of the average transaction
-- A change of the time alone: the same calls take longer. A change of both: look at what calls them. With several kinds, a change may be one of their mix.
SELECT
    component AS "component",
    earlier.ns / nullIf(earlier.number, 0) AS "before",
    now_is.ns / nullIf(now_is.number, 0) AS "per transaction",
    if("per transaction" > 100 * "before", NULL, "per transaction" / nullIf("before", 0) - 1) AS "change",
    ifNull("per transaction", 0) - ifNull("before", 0) AS "difference",
    nullIf(earlier.called, 0) / nullIf(earlier.number, 0) AS "calls before",
    nullIf(now_is.called, 0) / nullIf(now_is.number, 0) AS "calls each",
    now_is.ns / nullIf(now_is.called, 0) AS "per call"
FROM
    (
        -- include now
        -- include components_of of=new_version is=$new_version
    ) AS now_is
FULL JOIN
    (
        -- include then
        -- include components_of of=old_version is=$old_version
    ) AS earlier
    USING (component)
ORDER BY abs("difference") DESC
LIMIT 100
