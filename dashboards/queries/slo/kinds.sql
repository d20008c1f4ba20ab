-- Burn rates of kinds
-- 1: the errors that the target allows are used up exactly at its end; 14.4 for an hour uses 2 % of what is allowed in 30 days. `page`: above 14.4 for an hour and for its last 5 minutes, or above 6 for 6 hours and for the last 30 minutes; `ticket`: above 1 for 3 days and for the last 6 hours, as in Google's SRE workbook.
-- include since from=toUnixTimestamp(($__toTime))-259200 step=60
-- include target
SELECT
    service AS "service",
    kind AS "kind",
    multiIf(
        ifNull("1 h" > 14.4 AND bad_5m / nullIf(n_5m, 0) / budget > 14.4 OR "6 h" > 6 AND bad_30m / nullIf(n_30m, 0) / budget > 6, false), 'page',
        ifNull("3 d" > 1 AND "6 h" > 1, false), 'ticket',
        '') AS "alert",
    nullIf(bad_1h, 0) / n_1h / budget AS "1 h",
    nullIf(bad_6h, 0) / n_6h / budget AS "6 h",
    nullIf(bad_3d, 0) / number / budget AS "3 d",
    nullIf(failures, 0) / number AS "failed",
    nullIf(slow, 0) / number AS "too slow",
    1 - bad_3d / number AS "good",
    number AS "transactions"
FROM
-- include windows
ORDER BY "alert" = 'page' DESC, "alert" = 'ticket' DESC, bad_3d DESC
LIMIT 200
