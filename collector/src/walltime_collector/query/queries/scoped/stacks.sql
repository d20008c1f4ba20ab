-- Which stacks of a kind were sampled where no measured call was in progress? Of each component those with most samples;
-- all of its samples are in all_samples and all_time_ns.
-- Reads the sums of whole minutes, and the transactions themselves for the rest of the window (Scope.divided).
SELECT
    component, line, function, library, state, stack,
    sum(each.samples) AS samples,
    sum(each.time_ns) AS time_ns,
    sum(samples) OVER (PARTITION BY component) AS all_samples,
    sum(time_ns) OVER (PARTITION BY component) AS all_time_ns
FROM
(
    SELECT component, line, function, library, state, stack, samples, time_ns
    FROM other_1m
    WHERE
-- include _whole_minutes.sql
    UNION ALL -- beside whole minutes
    SELECT
        sample.component, sample.line, sample.function, sample.library, sample.state, sample.stack,
        toUInt64(sample.count), sample.time_ns
    FROM {source:Identifier} AS transactions
    ARRAY JOIN sample
    WHERE
-- include _beside_minutes.sql
) AS each
GROUP BY component, line, function, library, state, stack
ORDER BY samples DESC, component, line, function, library, state, stack
LIMIT {limit:UInt32} BY component
