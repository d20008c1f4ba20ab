-- Tables
-- What is stored, whatever time is shown. More than a few hundred parts of a table: inserts are too small or merges too slow. `days kept`: rows are removed when they are older (retention_… of `walltime serve`). In a cluster: of the node that answers.
SELECT
    name AS "name",
    total_rows AS "rows",
    total_bytes AS "size",
    total_bytes / nullIf(total_rows, 0) AS "per row",
    total_bytes / nullIf(sum(total_bytes) OVER (), 0) AS "share",
    active_parts AS "parts",
    toUInt32OrNull(extract(engine_full, 'toIntervalDay\\((\\d+)\\)')) AS "days kept"
FROM system.tables
WHERE database = currentDatabase() AND total_rows > 0
ORDER BY "size" DESC
LIMIT 100
