-- Plans
-- How servers read the tables, for the statements of this time; of all that is stored, the last one first. Two rows of one statement: its plan has changed. `last seen` is when the server was last asked for it.
-- include window
    , found AS
    (
        SELECT
            any(p.fingerprint) AS "statement",
            any(p.summary) AS "how",
            toNullable(max(p.last_seen)) AS "last seen",
            toNullable(min(p.first_seen)) AS "first seen",
            toString(server) AS "server",
            leftPad(hex(fingerprint_id), 16, '0') AS "id"
        FROM plans AS p
        WHERE 1
            -- include log_of
        GROUP BY fingerprint_id, server, database, plan_id
        ORDER BY "last seen" DESC, "first seen" DESC
        LIMIT 100
    )
SELECT * FROM found
UNION ALL
SELECT 'None: walltime serve --mysql-explain', '', NULL, NULL, '', ''
WHERE (SELECT count() FROM found) = 0
