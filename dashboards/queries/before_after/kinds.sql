-- Kinds
-- The first are those that add or save the most time. A click on `verdict` opens the page that tests whether a difference is chance, of the same two sides; `walltime diff` has the same answer. `more time` is what the change adds up to.
WITH
    now_is AS (
        -- include now
        -- include kinds_of of=new_version is=$new_version
    ),
    earlier AS (
        -- include then
        -- include kinds_of of=old_version is=$old_version
    )
SELECT
    service AS "service",
    kind AS "kind",
    multiIf(
        earlier.transactions = 0, 'new',
        now_is.transactions = 0, 'gone',
        least(now_is.transactions, earlier.transactions) < 10, 'too few',
        'chance?') AS "verdict",
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
