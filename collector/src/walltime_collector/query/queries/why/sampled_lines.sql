-- Which lines were sampled more often on one side? Sums of the samples' time and, because samples of one transaction belong
-- together, of the squares of each transaction's time. Both sides are in one row, those that differ most per transaction first.
-- The other subcolumns of `sample`, with the stacks, are not read.
SELECT
    component, line, function, state,
    sumIf(samples, NOT is_slow) AS usual_samples, sumIf(samples, is_slow) AS slow_samples,
    sumIf(time_ns, NOT is_slow) AS usual_ns, sumIf(time_ns, is_slow) AS slow_ns,
    sumIf(time_ns * time_ns, NOT is_slow) AS usual_squares, sumIf(time_ns * time_ns, is_slow) AS slow_squares
FROM
(
    WITH
-- include why/_compared.sql
    SELECT
        is_slow, component, line, function, state, sum(one_count) AS samples, toFloat64(sum(one_ns)) AS time_ns
    FROM transactions
    ARRAY JOIN
        sample.component AS component, sample.line AS line, sample.function AS function, sample.state AS state,
        sample.count AS one_count, sample.time_ns AS one_ns
    WHERE is_compared AND notEmpty(sample.count)
    GROUP BY trace_id, span_id, is_slow, component, line, function, state
)
GROUP BY component, line, function, state
ORDER BY abs(slow_ns / {slow_transactions:UInt64} - usual_ns / {usual_transactions:UInt64}) DESC, component, line, function, state
LIMIT {limit:UInt32}
