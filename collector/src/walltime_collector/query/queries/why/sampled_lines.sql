-- Which lines were sampled more often on one side, and which functions: then `line` is their file? Sums of the samples' time and,
-- because samples of one transaction belong together, of the squares of each transaction's time. Who computes also waits for a CPU
-- or the GIL: these are one, with the state of most of it. Both sides are in one row, those that differ most per transaction first.
-- The other subcolumns of `sample`, with the stacks, are not read.
SELECT
    component, place AS line, function, is_function,
    topKWeighted(1)(most_state, toUInt64(time_ns))[1] AS state,
    sumIf(samples, NOT is_slow) AS usual_samples, sumIf(samples, is_slow) AS slow_samples,
    sumIf(time_ns, NOT is_slow) AS usual_ns, sumIf(time_ns, is_slow) AS slow_ns,
    sumIf(time_ns * time_ns, NOT is_slow) AS usual_squares, sumIf(time_ns * time_ns, is_slow) AS slow_squares,
    count() OVER () AS looked_at
FROM
(
    WITH
-- include why/_compared.sql
    SELECT
        is_slow, component, function, if(state IN ('computing', 'gil', 'cpu'), 'computing', state) AS doing,
        arrayJoin(if(function = '' OR line IN ('', '(other)'), [false], [false, true])) AS is_function,
        if(is_function, replaceRegexpOne(line, ':[0-9]+$', ''), line) AS place,
        argMax(state, one_ns) AS most_state, sum(one_count) AS samples, toFloat64(sum(one_ns)) AS time_ns
    FROM transactions
    ARRAY JOIN
        sample.component AS component, sample.line AS line, sample.function AS function, sample.state AS state,
        sample.count AS one_count, sample.time_ns AS one_ns
    WHERE is_compared AND notEmpty(sample.count)
    GROUP BY trace_id, span_id, is_slow, component, function, doing, is_function, place
)
GROUP BY component, line, function, is_function, doing
ORDER BY abs(slow_ns / {slow_transactions:UInt64} - usual_ns / {usual_transactions:UInt64}) DESC, is_function, component, line, function, state
LIMIT {limit:UInt32}
