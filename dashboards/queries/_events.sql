-- include window
    , found AS
    (
        SELECT
            toNullable(at) AS "started",
            if(until > at, until, NULL) AS "ended",
            toString(server) AS "server",
            replaceAll(event, '_', ' ') AS "event",
            what AS "what happened"
        FROM
        (
            SELECT *
            FROM server_events
            WHERE at < to_at AND until >= from_at AND system IN {systems}
                AND $__conditionalAll(server IN (${server:singlequote}), $server)
            ORDER BY until DESC
            LIMIT 1 BY server, event, at
        )
        ORDER BY at DESC, server, event
        LIMIT 200
    )
SELECT * FROM found
UNION ALL
SELECT NULL, NULL, '', '', 'Nothing in this time.'
WHERE (SELECT count() FROM found) = 0
