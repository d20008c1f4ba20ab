-- Lines of the application where no call was measured
-- From samples of the stack, one every 10 ms: an estimate, of n samples with a standard error of its time ÷ √n. `called` is what the line had called; `state` says whether it computed or waited.
-- include window
    , (
        SELECT (sum(transactions), sum(duration_ns))
        FROM
        -- include kinds
    ) AS whole
SELECT
    line AS "line",
    function AS "name",
    library AS "called",
    state AS "state",
    component AS "component",
    ns / nullIf(whole.2, 0) AS "share",
    ns / nullIf(whole.1, 0) AS "per transaction",
    taken AS "samples"
FROM
(
    SELECT component, line, function, library, state, sum(time_ns) AS ns, sum(samples) AS taken
    FROM
    -- include lines
    GROUP BY component, line, function, library, state
)
ORDER BY ns DESC
LIMIT 100
