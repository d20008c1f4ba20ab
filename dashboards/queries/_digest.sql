-- include window
SELECT
    text AS "statement",
    -- include bar
    AS "time by state",
    ns / nullIf(sum(ns) OVER (), 0) AS "share",
    nullIf(called, 0) / (to_s - from_s) AS "per second",
    ns / nullIf(called, 0) AS "per call",
    server_ns / nullIf(server_called, 0) AS "at server",
    if(server_called = 0, NULL, examined / greatest(used, 1)) AS "examined each",
    nullIf(scans, 0) / server_called AS "full scans",
    nullIf(failures, 0) AS "errors",
    senders AS "sent by",
    leftPad(hex(id_of), 16, '0') AS "id"
FROM
(
    SELECT
        if(sent.statement = '', logged.statement, sent.statement) AS text, if(sent.statement = '', logged.number, sent.number) AS id_of,
        sent.ns AS ns, sent.called AS called, sent.failures AS failures,
        logged.ns AS server_ns, logged.called AS server_called, logged.examined AS examined, logged.used AS used,
        logged.scans AS scans,
        if(sent.kind = '', logged.route, concat(sent.kind, if(sent.kinds = 1, '', concat(' + ', toString(sent.kinds - 1))))) AS senders,
        if(logged.ns > 0, [logged.computing, logged.locked, logged.disk, logged.rest], [0, 0, 0, sent.ns]) AS parts,
        max(arraySum(parts)) OVER () AS widest
    FROM
        (
            SELECT
                number, argMax(text, ns_of) AS statement, sum(ns_of) AS ns, sum(n) AS called, sum(failed) AS failures,
                argMax(kind_of, ns_of) AS kind, uniqExact(service_of, kind_of) AS kinds
            FROM
            (
                SELECT
                    any(t.statement) AS text, toString(t.service) AS service_of, toString(t.kind) AS kind_of,
                    -- include fingerprint of=text
                    AS number,
                    sum(t.time_ns) AS ns_of, sum(t.calls) AS n, sum(t.errors) AS failed
                FROM
                -- include statements
                AS t
                GROUP BY t.statement, service_of, kind_of
            )
            GROUP BY number
        ) AS sent
    FULL JOIN (
            SELECT
                fingerprint_id AS number, any(fingerprint) AS statement, sum(query_ns * weight) AS ns, sum(weight) AS called,
                sum(computing_ns * weight) AS computing, sum(locked_ns * weight) AS locked, sum(disk_ns * weight) AS disk,
                sum(rest_ns * weight) AS rest, sum(rows_examined * weight) AS examined,
                sum((rows_sent + rows_affected) * weight) AS used, sumIf(weight, is_full_scan) AS scans, any(route) AS route
            FROM slow_queries
            WHERE
            -- include log
            GROUP BY fingerprint_id
        ) AS logged
        ON sent.number = logged.number
)
ORDER BY greatest(ns, server_ns) DESC
LIMIT 100
