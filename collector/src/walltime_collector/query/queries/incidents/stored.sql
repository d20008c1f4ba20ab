-- Which incidents were there in this time, or one by its id? The newest state of each, open ones first.
SELECT
    id,
    toUnixTimestamp(started_at) AS started_s,
    toUnixTimestamp(opened_at) AS opened_s,
    toUnixTimestamp(ended_at) AS ended_s,
    toBool(is_open) AS is_open,
    ended_because,
    service,
    name,
    severity,
    headline,
    sentences,
    arrayZip(`change.measure`, `change.component`, `change.address`, `change.usual`, `change.now`, `change.worst`) AS changes,
    toUnixTimestamp(usual_since) AS usual_since_s,
    toUnixTimestamp(usual_until) AS usual_until_s,
    toUnixTimestamp(explained_at) AS explained_s,
    countIf(is_open) OVER () AS all_open,
    count() OVER () AS all_incidents
FROM
(
    SELECT *
    FROM incidents
    WHERE ({id:String} = '' OR id = {id:String})
        AND ({service:String} = '' OR service = {service:String})
        AND ({kind:String} = '' OR name = {kind:String})
    ORDER BY is_open, updated_at DESC -- what has ended stays so, whatever the clocks of collectors said
    LIMIT 1 BY id
)
WHERE {id:String} != ''
    OR started_at < toDateTime({end_s:Int64}, 'UTC') AND (is_open OR NOT {is_open:Bool} AND ended_at >= toDateTime({start_s:Int64}, 'UTC'))
ORDER BY is_open DESC, started_s DESC, service, name
LIMIT {limit:UInt32}
