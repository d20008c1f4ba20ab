-- Who waits for whom
-- The longest waits for locks. `kind` waited, and `held by` is the kind that held the lock; a click on a trace id shows the transaction of each. `idle` is how long the holder had sent nothing: time the application spent with the lock.
-- include window
    , found AS
    (
        SELECT
            toNullable(fromUnixTimestamp64Nano(started_ns, 'UTC')) AS "started",
            toNullable(waited_ns) AS "waited",
            concat(object, if(index_name = '', '', concat(' ', index_name)), if(key = '', '', concat(' ', key))) AS "waited for",
            name AS "kind",
            statement AS "statement",
            trace_id AS "trace",
            if(holder_name = '', 'unknown', holder_name) AS "held by",
            if(holder_running = '', holder_statement, holder_running) AS "holder statement",
            nullIf(holder_idle_ns, 0) AS "idle",
            holder_trace_id AS "holder"
        FROM
        (
            -- include servers/lock_waits.sql server=server start_ns=(toInt64(from_s)*1000000000) end_ns=(toInt64(to_s)*1000000000) limit=10000
        )
        WHERE $__conditionalAll(server IN (${server:singlequote}), $server)
            AND $__conditionalAll(service IN (${service:singlequote}) OR holder_service IN (${service:singlequote}), $service)
            AND $__conditionalAll(name IN (${kind:singlequote}) OR holder_name IN (${kind:singlequote}), $kind)
        ORDER BY "waited" DESC
        LIMIT 100
    )
SELECT * FROM found
UNION ALL
SELECT NULL, NULL, 'Nothing in this time.', '', '', '', '', '', NULL, ''
WHERE (SELECT count() FROM found) = 0
