-- Its statements, for the application and for the database
-- `time` is the application's, `at server` what the server logged of the same calls; `network` is the rest, with the driver's work and waiting for a CPU. `lock wait`, `disk` and `cpu` are parts of `at server`; empty: none, or not measured there. Where the server logs only slow ones, `how` says of how many. A row without calls is in the log alone, such as a COMMIT.
-- include shown
    , (
        SELECT CAST((groupArray(text), groupArray(place)), 'Map(String, String)')
        FROM
        (
            SELECT text, any(line) AS place
            FROM
            -- include calls
            WHERE line != ''
            GROUP BY text
        )
    ) AS line_of
    -- with more entries than calls, one server is logged under two names
    , if(arraySum(side -> side.1, sides) <= sent, sides, arraySlice(sides, 1, 1)) AS counted
    , arraySum(side -> side.1, counted) AS entries
    , arraySum(side -> side.2, counted) AS at_server
    , greatest(failed, arraySum(side -> side.7, counted)) AS wrong
SELECT
    if(sent = 0, sample, text) AS "statement",
    nullIf(sent, 0) AS "calls",
    nullIf(ns, 0) AS "time",
    nullIf(at_server, 0) AS "at server",
    if(entries = sent, greatest(0, toInt64(ns) - toInt64(at_server)), NULL) AS "network",
    nullIf(arraySum(side -> side.3, counted), 0) AS "lock wait",
    nullIf(arraySum(side -> side.4, counted), 0) AS "disk",
    nullIf(arraySum(side -> side.5, counted), 0) AS "cpu",
    nullIf(arraySum(side -> side.6, counted), 0) AS "examined",
    arrayStringConcat(arrayFilter(word -> word != '', arrayConcat(
        [
            if(entries BETWEEN 1 AND sent - 1, concat('the log has ', toString(entries), ' of ', toString(sent)), ''),
            if(wrong = 0, '', concat(toString(wrong), ' failed'))],
        notes)), ', ') AS "how",
    line_of[text] AS "line"
FROM
(
    SELECT
        -- include fingerprint of=s.statement
        AS key,
        argMax(s.statement, time_ns) AS text, sum(s.calls) AS sent, sum(time_ns) AS ns, sum(s.errors) AS failed
    FROM statements_each AS s
    WHERE trace_id = shown
    GROUP BY key
) AS here
FULL JOIN
(
    SELECT fingerprint_id AS key, any(first) AS sample, arrayReverseSort(groupArray(side)) AS sides, groupUniqArrayArray(said) AS notes
    FROM
    (
        SELECT
            fingerprint_id, any(sample) AS first,
            (count(), sum(query_ns), sum(locked_ns), sum(disk_ns), sum(computing_ns), sum(rows_examined), countIf(errno > 0)) AS side,
            [if(max(is_full_scan), 'full scan', ''), if(max(is_full_join), 'full join', ''),
                if(max(is_tmp_table_on_disk), 'temporary table on disk', ''), if(max(is_filesort_on_disk), 'sorted on disk', '')] AS said
        FROM slow_queries
        WHERE trace_id = shown
        GROUP BY fingerprint_id, server
    )
    GROUP BY key
) AS there
USING (key)
ORDER BY greatest(ns, at_server) DESC
LIMIT 500
