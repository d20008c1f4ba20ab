-- How long did a call of a statement take in a typical minute before a moment, and after another one?
SELECT
    quantileExactWeightedIf(0.5)(s.time_ns / s.calls, s.calls, is_before) AS before_ns,
    quantileExactWeightedIf(0.5)(s.time_ns / s.calls, s.calls, is_after) AS after_ns,
    sumIf(s.calls, is_before) AS calls_before,
    sumIf(s.calls, is_after) AS calls_after
FROM
(
    SELECT
        time_ns, calls, minute < toStartOfMinute(toDateTime({until_s:Int64}, 'UTC')) AS is_before,
        minute > toStartOfMinute(toDateTime({from_s:Int64}, 'UTC')) AS is_after
    FROM statements_1m
    WHERE text IN {texts:Array(String)} AND calls > 0
        AND minute >= toDateTime({until_s:Int64} - {around_s:Int64}, 'UTC') AND minute < toDateTime({from_s:Int64} + {around_s:Int64}, 'UTC')
) AS s
