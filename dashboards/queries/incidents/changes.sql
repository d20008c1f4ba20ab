-- What was not as usual
-- The numbers of each incident: `usual` is the time before it, `now` the incident as a whole, `worst` its worst minutes.
SELECT
    nullIf(started_at, toDateTime(0)) AS "started",
    service AS "service",
    kind AS "kind",
    if(id = '', 'None: all kinds are as usual.', concat(
        if(change.2 = '', '', concat(change.2, ' ')),
        transform(change.1, ['time', 'errors', 'calls', 'hit_ratio'], ['time of a transaction', 'failed transactions', 'calls of a transaction', 'hits'], change.1),
        if(change.3 = '', '', concat(' on ', change.3)))) AS "measure",
    -- include as_text of=change.4
    AS "usual",
    -- include as_text of=change.5
    AS "now",
    -- include as_text of=change.6
    AS "worst"
FROM
    -- include incidents_or_none
    AS i
LEFT ARRAY JOIN arrayZip(`change.measure`, `change.component`, `change.address`, `change.usual`, `change.now`, `change.worst`) AS change
ORDER BY is_open DESC, started_at DESC
LIMIT 500
