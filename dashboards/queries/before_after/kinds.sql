-- Kinds
-- The first are those that add or save the most time. `verdict` is of the mean: `chance` is what points of such a spread may do by themselves (Mann and Whitney's test, with Bonferroni's correction for the number of kinds), `small` is less than 5 %. `more time` is what the change adds up to.
WITH
    now_is AS (
        -- include now
        -- include kinds_of of=new_version is=$new_version
    ),
    earlier AS (
        -- include then
        -- include kinds_of of=old_version is=$old_version
    ),
    arrayReduce('mannWhitneyUTest', arrayConcat(now_is.means, earlier.means),
        arrayConcat(arrayMap(each -> 0, now_is.means), arrayMap(each -> 1, earlier.means))).2 AS p_value
SELECT
    service AS "service",
    kind AS "kind",
    multiIf(
        earlier.transactions = 0, 'new',
        now_is.transactions = 0, 'gone',
        least(length(now_is.means), length(earlier.means)) < 5 OR least(now_is.transactions, earlier.transactions) < 30, 'too few',
        p_value * count() OVER () >= 0.01, 'chance',
        abs("change") < 0.05, 'small',
        "change" > 0, 'slower',
        'faster') AS "verdict",
    earlier.duration_ns / nullIf(earlier.transactions, 0) AS "mean before",
    now_is.duration_ns / nullIf(now_is.transactions, 0) AS "mean",
    "mean" / nullIf("mean before", 0) - 1 AS "change",
    ("mean" - "mean before") * now_is.transactions AS "more time",
    if(earlier.transactions = 0, NULL, earlier.p95_ns) AS "p95 before",
    if(now_is.transactions = 0, NULL, now_is.p95_ns) AS "p95",
    nullIf(now_is.errors, 0) / now_is.transactions AS "failed",
    nullIf(now_is.transactions, 0) AS "transactions"
FROM now_is
FULL JOIN earlier USING (service, kind)
ORDER BY abs(ifNull("more time", toFloat64(now_is.duration_ns + earlier.duration_ns))) DESC, service, kind
LIMIT 300
