-- What does the average transaction spend its time on, over time? The parts add up to the mean response time; where
-- calls overlap (threads, asyncio) they add up to more. formatRow gives the columns of all built-in components with
-- their names, so a new component needs no change here; a component that is absent for a while is 0, not a gap.
SELECT
    time,
    component,
    ns[component] / transactions / 1e6 AS ms
FROM
(
    SELECT
        time,
        transactions,
        CAST(parts, 'Map(String, UInt64)') AS ns,
        groupUniqArrayArray(arrayFilter(name -> ns[name] > 0, mapKeys(ns))) OVER () AS components
    FROM
    (
        SELECT
            $__timeInterval(started_at) AS time,
            count() AS transactions,
            arrayConcat(
                arrayMap(
                    c -> (replaceOne(extract(c.1, '[(](.+)_time_ns'), '_', '.'), c.2),
                    JSONExtractKeysAndValues(formatRow('JSONEachRow', COLUMNS('_time_ns$') EXCEPT (custom_time_ns) APPLY sum), 'UInt64')),
                CAST(sumMap(custom_time_ns), 'Array(Tuple(String, UInt64))'),
                [('other', sum(other_ns))]) AS parts
        FROM transactions
        WHERE $__timeFilter(started_at)
            AND $__conditionalAll(service IN (${service:singlequote}), $service)
            AND $__conditionalAll(name IN (${kind:singlequote}), $kind)
        GROUP BY time
    )
)
ARRAY JOIN components AS component
ORDER BY time, transform(splitByChar('.', component)[1], ['mysql', 'memcache', 'http', 'python', 'other'], [1, 2, 3, 4, 9], 5), component
