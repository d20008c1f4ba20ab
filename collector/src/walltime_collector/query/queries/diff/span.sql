-- When did the first and the last transaction of a Scope start? A version can have a small part of the window.
SELECT
    toUnixTimestamp64Nano(min(started_at)) AS first_ns,
    toUnixTimestamp64Nano(max(started_at)) AS last_ns
FROM {source:Identifier} AS transactions
WHERE
-- include _scope.sql
