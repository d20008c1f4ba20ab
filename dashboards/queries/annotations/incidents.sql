SELECT
    started_at AS "time",
    ended_at AS "timeEnd",
    concat(encodeXMLComponent(service), ': ', encodeXMLComponent(name)) AS "title",
    concat(encodeXMLComponent(headline), ' <a href="', ${walltime_url:singlequote}, '/incidents/', id, '">In Walltime</a>') AS "text",
    severity AS "tags"
FROM incidents FINAL
WHERE started_at <= ($__toTime) AND (ended_at >= ($__fromTime) OR is_open)
    AND $__conditionalAll(service IN (${service:singlequote}), $service)
    AND $__conditionalAll(name IN (${kind:singlequote}), $kind)
ORDER BY started_at
