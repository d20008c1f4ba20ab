-- Its statements, for the application and for the database
-- `time` is the application's, `at server` what the server logged of the same calls; `network` is the rest, with the driver's work. `lock wait`, `disk` and `cpu` are parts of `at server`; empty: not measured there. `in log` is less than `calls` where the server logs slow ones only. A row without calls is in the log alone, such as a COMMIT.
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
SELECT
    if(here.text = '', sample, here.text) AS "statement",
    nullIf(sent, 0) AS "calls",
    if(sent = 0, NULL, here.ns) AS "time",
    if(entries = 0, NULL, there.ns) AS "at server",
    if(entries = sent, greatest(0, toInt64(here.ns) - toInt64(there.ns)), NULL) AS "network",
    nullIf(entries, 0) AS "in log",
    if(entries = 0, NULL, locked) AS "lock wait",
    if(disk_known, disk, NULL) AS "disk",
    if(cpu_known, computing, NULL) AS "cpu",
    if(entries = 0, NULL, examined) AS "examined",
    arrayStringConcat(arrayFilter(word -> word != '', arrayConcat(
        [if(here.failed + there.failed > 0, concat(toString(greatest(here.failed, there.failed)), ' failed'), '')], notes)), ', ') AS "how",
    line_of[here.text] AS "line"
FROM
(
    SELECT
        -- include statement_key of=s.statement
        AS key,
        argMax(s.statement, time_ns) AS text, sum(s.calls) AS sent, sum(time_ns) AS ns, sum(s.errors) AS failed
    FROM statements_each AS s
    WHERE trace_id = shown
    GROUP BY key
) AS here
FULL JOIN
(
    SELECT
        key, any(first) AS sample, argMax(each.entries, each.entries) AS entries, argMax(each.ns, each.entries) AS ns, argMax(each.locked, each.entries) AS locked,
        argMax(each.disk, each.entries) AS disk, argMax(each.disk_known, each.entries) AS disk_known, argMax(each.computing, each.entries) AS computing,
        argMax(each.cpu_known, each.entries) AS cpu_known, argMax(each.examined, each.entries) AS examined, argMax(each.failed, each.entries) AS failed,
        argMax(each.notes, each.entries) AS notes
    FROM
    (
        SELECT
            -- include statement_key of=fingerprint
            AS key,
            server, any(sample) AS first, count() AS entries, sum(query_ns) AS ns, sum(locked_ns) AS locked, sum(disk_ns) AS disk,
            min(is_disk_known) AS disk_known, sum(computing_ns) AS computing, min(is_cpu_known) AS cpu_known, sum(rows_examined) AS examined,
            countIf(errno > 0) AS failed,
            [if(max(is_full_scan), 'full scan', ''), if(max(is_full_join), 'full join', ''),
                if(max(is_tmp_table_on_disk), 'temporary table on disk', ''), if(max(is_filesort_on_disk), 'sorted on disk', '')] AS notes
        FROM slow_queries
        WHERE trace_id = shown
        GROUP BY key, server
    ) AS each
    GROUP BY key
) AS there
USING (key)
ORDER BY greatest(here.ns, there.ns) DESC
LIMIT 500
