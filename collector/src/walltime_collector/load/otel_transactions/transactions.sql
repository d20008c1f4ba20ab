-- Derives transactions from the roots that were stored in one window, with bills computed from the spans below them.
--
--   process_spans   the spans of the processes that served these traces, each as a call
--   linked          per trace and process, as arrays: where in them each span's parent is
--   owned           for each span the root that it belongs to (owner) and the call that it was made in (caller)
--   clipped         per root, its calls: the part of each inside the root's time; the union of all is `covered`. Calls
--                   that begin after it are late: they are whole, and not part of the bill
--   measured        each call's own time: its duration without the union of the calls made in it
--   counted         per root, by component, by target (its name and its address are two lines of one key), by statement
--   bills           a row per root
--
-- Ancestors are computed by pointer jumping: each round doubles the distance, so a chain of any length takes
-- log2(spans) rounds, and a cycle ends nowhere. A round reads from[v] for each v of the array by sorting the lookups
-- together with the array, because a lambda that captures an array gets a copy of it per element. Its UInt64s are key
-- << 33 | is a lookup << 32 | value. A key beyond the array's end stays as it is: the walk has ended.
INSERT INTO transactions
(
    trace_id, span_id, parent_span_id, started_at, duration_ns, service, name, kind, host, instance, version,
    environment,
    user, method, http_status, is_error, error_type, kept, sample_probability, covered_ns,
    mysql_connect_calls, mysql_connect_time_ns, mysql_connect_max_ns, mysql_connect_errors,
    mysql_query_calls, mysql_query_time_ns, mysql_query_max_ns, mysql_query_errors,
    mysql_commit_calls, mysql_commit_time_ns, mysql_commit_max_ns, mysql_commit_errors,
    memcache_connect_calls, memcache_connect_time_ns, memcache_connect_max_ns, memcache_connect_errors,
    memcache_get_calls, memcache_get_time_ns, memcache_get_max_ns, memcache_get_errors,
    memcache_set_calls, memcache_set_time_ns, memcache_set_max_ns, memcache_set_errors,
    memcache_delete_calls, memcache_delete_time_ns, memcache_delete_max_ns, memcache_delete_errors,
    memcache_incr_calls, memcache_incr_time_ns, memcache_incr_max_ns, memcache_incr_errors,
    http_connect_calls, http_connect_time_ns, http_connect_max_ns, http_connect_errors,
    http_request_calls, http_request_time_ns, http_request_max_ns, http_request_errors,
    custom_calls, custom_time_ns, custom_max_ns, custom_errors,
    `target.component`, `target.address`, `target.calls`, `target.time_ns`, `target.errors`, `target.hits`,
    `target.misses`,
    `statement.text`, `statement.calls`, `statement.time_ns`, `statement.errors`,
    attributes, resource
)
WITH
    roots AS
    (
        SELECT trace_id, span_id, service, started_at, duration_ns
        FROM foreign_roots
        WHERE loaded_at >= toDateTime({since_s:UInt32}, 'UTC') AND loaded_at < toDateTime({until_s:UInt32}, 'UTC')
            AND cityHash64(trace_id) % {parts:UInt32} = {part:UInt32}
    ),
    stored AS
    (
        SELECT trace_id, span_id, parent_span_id, service, kept
        FROM transactions
        WHERE service IN (SELECT service FROM roots)
            AND started_at BETWEEN fromUnixTimestamp64Nano({first_ns:Int64}, 'UTC')
            AND fromUnixTimestamp64Nano({last_ns:Int64}, 'UTC')
            AND trace_id IN (SELECT trace_id FROM roots)
    ),
    -- sent again by a sender that received no answer. Not looked up in transactions: those of this same INSERT may be
    -- there from a try that ended before the views behind them had their rows, which only the same rows again can add
    sent_before AS
    (
        SELECT trace_id, span_id
        FROM foreign_roots
        WHERE loaded_at >= toDateTime({since_s:UInt32} - 3600, 'UTC')
            AND loaded_at < toDateTime({since_s:UInt32}, 'UTC')
            AND trace_id IN (SELECT trace_id FROM roots)
    ),
    -- the same request, seen by Walltime's SDK in the same process: inside, outside or beside the other SDK's span
    claimed AS (SELECT trace_id, service,
        arrayJoin([span_id, parent_span_id]) AS span_id FROM stored WHERE kept != 'foreign'
        AND span_id != toFixedString('', 8)),
    process_spans AS
    (
        SELECT
            trace_id, span_id, parent_span_id,
            cityHash64(service, host, instance, resource['process.pid']) AS process,
            toUnixTimestamp64Nano(started_at) AS starts_ns, starts_ns + toInt64(duration_ns) AS ends_ns,
            component, address, if(sql_text = '', 0, cityHash64(sql_text)) AS text_id, is_error,
            kind IN ('client', 'producer') AS is_outgoing,
            (trace_id, span_id) IN (SELECT trace_id, span_id FROM stored) AS is_stored,
            kind IN ('server', 'consumer') AND (trace_id, service, span_id) NOT IN (claimed)
                AND (trace_id, service, parent_span_id) NOT IN (claimed) AS may_be_root,
            (trace_id, span_id) IN (SELECT trace_id, span_id FROM roots) AND (trace_id, span_id) NOT IN (sent_before)
                AND NOT ({is_late:Bool} AND is_stored) AS is_in_window
        FROM foreign_calls
        WHERE trace_id IN (SELECT trace_id FROM roots)
            AND started_at BETWEEN fromUnixTimestamp64Nano({first_ns:Int64}, 'UTC')
            AND fromUnixTimestamp64Nano({last_ns:Int64}, 'UTC')
        LIMIT 1 BY trace_id, span_id
    ),
    linked AS
    (
        SELECT
            trace_id, process,
            groupArray((span_id, starts_ns, ends_ns, component, address, text_id, is_error, is_in_window)) AS spans,
            groupArray((span_id, parent_span_id, is_stored, may_be_root, is_outgoing, component != '')) AS ties,
            toUInt64(length(ties)) AS size,
            arraySort(arrayConcat(
                arrayMap((tie, at) -> (tie.1, 0, toUInt64(at), tie.5, tie.6), ties, arrayEnumerate(ties)),
                arrayMap((tie, at) -> (tie.2, 1, toUInt64(at), 0, 0), ties, arrayEnumerate(ties)))) AS lookups,
            -- where the parent is (0: not here), whether it is an outgoing call, whether it is a call
            arrayMap(link -> link.2, arraySort(link -> link.1, arrayFilter(link -> link.1 != 0, arrayMap(
                (lookup, known) -> multiIf(
                    lookup.2 = 0, (toUInt64(0), (toUInt64(0), 0, 0)),
                    known.2 = 0 AND known.1 = lookup.1 AND known.3 != lookup.3, (lookup.3, (known.3, known.4, known.5)),
                    (lookup.3, (toUInt64(0), 0, 0))),
                lookups, arrayFill(lookup -> lookup.2 = 0, lookups))))) AS parents,
            -- a SERVER span in a SERVER span of the same process is no root; one below a CLIENT span is
            arrayMap((tie, parent) -> tie.3 OR tie.4 AND (parent.1 = 0 OR parent.2 = 1), ties, parents) AS is_root
        FROM process_spans
        GROUP BY trace_id, process
        HAVING max(is_in_window)
    ),
    owned AS
    (
        WITH
            v -> arraySort(arrayConcat(
                arrayMap((value, at) -> bitOr(bitShiftLeft(toUInt64(at), 33), value), v, arrayEnumerate(v)),
                arrayMap((value, at) -> bitOr(bitShiftLeft(value, 33), bitOr(0x100000000, toUInt64(at))), v,
                    arrayEnumerate(v)))) AS lookups_of,
            lookups -> arrayMap(result -> bitAnd(result, 0xFFFFFFFF), arraySort(arrayMap(
                (lookup, known) -> bitOr(
                    bitShiftLeft(bitAnd(lookup, 0xFFFFFFFF), 32),
                    if(bitShiftRight(known, 32) = 2 * bitShiftRight(lookup, 33), bitAnd(known, 0xFFFFFFFF),
                        bitShiftRight(lookup, 33))),
                arrayFilter(lookup -> bitTest(lookup, 32), lookups),
                arrayFilter((known, lookup) -> bitTest(lookup, 32),
                    arrayFill(lookup -> NOT bitTest(lookup, 32), lookups), lookups)))) AS read_at
        SELECT
            trace_id, process,
            range(toUInt32(ceil(log2(size + 1)))) AS rounds,
            arrayMap((here, parent, at) -> if(here, size + toUInt64(at), parent.1), is_root, parents,
                arrayEnumerate(parents)) AS towards_root,
            arrayMap((here, parent) -> multiIf(here, toUInt64(0), parent.3 = 1, size + parent.1, parent.1), is_root,
                parents) AS towards_call,
            arrayFold((v, round) -> read_at(lookups_of(v)), rounds, towards_root) AS owners,
            arrayFold((v, round) -> read_at(lookups_of(v)), rounds, towards_call) AS callers,
            arrayJoin(arrayFilter(
                each -> each.2 > 0 AND (each.1 = each.2 OR each.4.4 != ''),
                arrayMap(
                    (at, owner, caller, span) -> (toUInt64(at), toUInt64(greatest(owner, size) - size),
                        toUInt64(greatest(caller, size) - size), span),
                    arrayEnumerate(spans), owners, callers, spans))) AS each,
            each.1 AS at, each.2 AS owner, each.3 AS caller, each.4 AS span
        FROM linked
    ),
    clipped AS
    (
        WITH each -> each.1 != owner AND each.3.2 >= root.3 AS is_late
        SELECT
            trace_id, process, owner,
            anyIf(span, at = owner) AS root,
            groupArray((at, caller, span)) AS all,
            -- the root itself is a call without a component and without a caller: it is measured too, for what is
            -- `other`
            arrayMap(
                each -> (
                    each.1, each.2, each.3.4, each.3.5, each.3.6, each.3.7,
                    if(is_late(each), each.3.2, greatest(root.2, least(root.3, each.3.2))),
                    if(is_late(each), greatest(each.3.2, each.3.3), greatest(root.2, least(root.3, each.3.3))),
                    is_late(each)),
                all) AS calls,
            arrayFilter(call -> call.3 != '' AND NOT call.9, calls) AS true_calls,
            arrayReduce('intervalLengthSum', arrayMap(call -> call.7, true_calls),
                arrayMap(call -> call.8, true_calls)) AS covered_ns
        FROM owned
        GROUP BY trace_id, process, owner
        HAVING root.8
    ),
    measured AS
    (
        SELECT
            trace_id, root_id, any(root_covered_ns) AS covered_ns, any(root_ends_ns) AS ends_ns,
            anyIf(part_is_late, is_itself) AS is_late,
            anyIf(part_component, is_itself) AS component, anyIf(part_address, is_itself) AS address,
            anyIf(part_text_id, is_itself) AS text_id,
            anyIf(part_is_error, is_itself) AS is_error, anyIf(call_starts_ns, is_itself) AS from_ns,
            anyIf(call_ends_ns, is_itself) AS to_ns,
            groupArrayIf((call_starts_ns, call_ends_ns), NOT is_itself) AS within,
            toUInt64(to_ns - from_ns - arrayReduce(
                'intervalLengthSum',
                arrayMap(each -> greatest(from_ns, least(to_ns, each.1)), within),
                arrayMap(each -> greatest(from_ns, least(to_ns, each.2)), within))) AS own_ns,
            -- SQLAlchemy's span around PyMySQL's: one call seen twice. The time is the component's, the call is the
            -- inner one
            has(groupArrayIf((part_component, part_is_late), NOT is_itself), (component, is_late)) AS is_seen_within
        FROM
        (
            SELECT
                trace_id, root.1 AS root_id, covered_ns AS root_covered_ns, root.3 AS root_ends_ns,
                arrayJoin(calls) AS call,
                call.3 AS part_component, call.4 AS part_address, call.5 AS part_text_id, call.6 AS part_is_error,
                call.7 AS call_starts_ns, call.8 AS call_ends_ns, call.9 AS part_is_late,
                arrayJoin(if(call.2 = 0, [(call.1, true)], [(call.1, true), (call.2, false)])) AS part,
                part.1 AS measured_at, part.2 AS is_itself
            FROM clipped
        )
        GROUP BY trace_id, root_id, measured_at
    ),
    counted AS
    (
        SELECT
            trace_id, root_id, any(covered_ns) AS covered_ns,
            sumMapIf([component], [own_ns], [calls], [errors], NOT is_late) AS by_component,
            maxMapIf([component], [own_ns], NOT is_late) AS longest,
            sumMapIf([target], [own_ns], [calls], [errors], NOT is_late) AS by_target,
            sumMapIf([text], [own_ns], [calls], [errors], NOT is_late) AS by_text,
            sumMapIf([component], [own_ns], [calls], [errors], is_late) AS by_late_component,
            maxIf(toUInt64(to_ns - ends_ns), is_late) AS late_ns
        FROM
        (
            SELECT
                *,
                if(address = '', '', concat(component, '\n', address)) AS target,
                toUInt64(NOT is_seen_within) AS calls, toUInt64(is_error AND NOT is_seen_within) AS errors
            FROM measured
            ANY LEFT JOIN
            (
                SELECT text_id, statement AS text
                FROM foreign_statements
                WHERE since = toDateTime({since_s:UInt32}, 'UTC')
            ) AS redacted USING text_id
        )
        GROUP BY trace_id, root_id
    ),
    -- (-time, name, calls, errors), the most expensive first
    listed AS
    (
        SELECT
            trace_id, root_id, covered_ns, late_ns, CAST(longest, 'Map(String, UInt64)') AS longest_ns,
            arraySort(arrayMap((name, ns, calls, errors) -> (-toInt64(ns), name, calls, errors), by_late_component.1,
                    by_late_component.2, by_late_component.3, by_late_component.4)) AS late_components,
            arraySort(arrayFilter(entry -> entry.2 != '',
                    arrayMap((name, ns, calls, errors) -> (-toInt64(ns), name, calls, errors), by_component.1,
                        by_component.2, by_component.3, by_component.4))) AS components,
            arraySort(arrayFilter(entry -> entry.2 != '',
                    arrayMap((name, ns, calls, errors) -> (-toInt64(ns), name, calls, errors), by_target.1, by_target.2,
                        by_target.3, by_target.4))) AS targets,
            arraySort(arrayFilter(entry -> entry.2 != '',
                    arrayMap((name, ns, calls, errors) -> (-toInt64(ns), name, calls, errors), by_text.1, by_text.2,
                        by_text.3, by_text.4))) AS statements
        FROM counted
    ),
    -- the first of them, and the others together as one row
    bounded AS
    (
        SELECT
            trace_id, root_id, covered_ns, late_ns, longest_ns,
            arrayConcat(
                arraySlice(late_components, 1, 32),
                arrayMap(rest -> (arraySum(rest.1), '(other)', arraySum(rest.3), arraySum(rest.4)),
                    arrayFilter(rest -> notEmpty(rest), [arraySlice(late_components, 33)]))) AS late_rows,
            arrayConcat(
                arraySlice(components, 1, 32),
                arrayMap(rest -> (arraySum(rest.1), '(other)', arraySum(rest.3), arraySum(rest.4)),
                    arrayFilter(rest -> notEmpty(rest), [arraySlice(components, 33)]))) AS component_rows,
            arrayConcat(
                arraySlice(targets, 1, 64),
                arrayMap(rest -> (arraySum(rest.1), '(other)', arraySum(rest.3), arraySum(rest.4)),
                    arrayFilter(rest -> notEmpty(rest), [arraySlice(targets, 65)]))) AS target_rows,
            arrayConcat(
                arraySlice(statements, 1, 64),
                arrayMap(rest -> (arraySum(rest.1), '(other)', arraySum(rest.3), arraySum(rest.4)),
                    arrayFilter(rest -> notEmpty(rest), [arraySlice(statements, 65)]))) AS statement_rows
        FROM listed
    ),
    bills AS
    (
        SELECT
            trace_id, root_id, covered_ns, statement_rows, target_rows,
            -- as query/after_response.py reads it
            if(empty(late_rows), map(), map(
                'walltime.after_response.duration_ns', toString(late_ns),
                'walltime.after_response.component', toJSONString(late_rows.2),
                'walltime.after_response.calls', toJSONString(arrayMap(entry -> toString(entry.3), late_rows)),
                'walltime.after_response.time_ns', toJSONString(arrayMap(entry -> toString(-entry.1), late_rows)),
                'walltime.after_response.errors', toJSONString(arrayMap(entry -> toString(entry.4), late_rows))))
                AS after_response,
            arrayMap(entry -> splitByChar('\n', entry.2), target_rows) AS target_names,
            mapFromArrays(component_rows.2,
                arrayMap(entry -> (entry.3, toUInt64(-entry.1), longest_ns[entry.2], entry.4),
                    component_rows)) AS by_component,
            mapFilter((component, counters) -> component NOT IN (
                'mysql.connect', 'mysql.query', 'mysql.commit', 'memcache.connect', 'memcache.get', 'memcache.set',
                'memcache.delete',
                'memcache.incr', 'http.connect', 'http.request'), by_component) AS custom
        FROM bounded
    ),
    (a, b) -> if(attributes[a] != '', attributes[a], attributes[b]) AS either,
    extract(trace_state, '(?:^|,)\\s*ot=(?:[^,]*;)?th:([0-9a-f]{1,14})(?:[;,\\s]|$)') AS threshold,
    events.attributes[indexOf(events.name, 'exception')]['exception.type'] AS exception,
    if(attributes['http.route'] = '', root.name, trim(concat(method, ' ', attributes['http.route']))) AS full_name,
    -- as in schema/005
    (today(), service, '_OTHER') IN crowded_names AND (today(), service,
        full_name) NOT IN crowded_names AS is_crowded_out
SELECT
    trace_id, span_id, parent_span_id, started_at, duration_ns, service,
    if(is_crowded_out, '_OTHER', full_name) AS name,
    kind, host, instance, version, environment,
    either('user.id', 'enduser.id') AS user,
    either('http.request.method', 'http.method') AS method,
    toUInt16OrZero(either('http.response.status_code', 'http.status_code')) AS http_status,
    status = 'error' OR http_status >= 500 AS is_error,
    multiIf(attributes['error.type'] != '', attributes['error.type'], exception != '', exception, is_error
        AND http_status >= 400, toString(http_status), '') AS error_type,
    'foreign' AS kept,
    if(threshold = '', 1., 1 - reinterpretAsUInt64(reverse(unhex(rightPad(threshold, 14, '0')))) / pow(2,
            56)) AS sample_probability,
    covered_ns,
    by_component['mysql.connect'].1, by_component['mysql.connect'].2, by_component['mysql.connect'].3,
    by_component['mysql.connect'].4,
    by_component['mysql.query'].1, by_component['mysql.query'].2, by_component['mysql.query'].3,
    by_component['mysql.query'].4,
    by_component['mysql.commit'].1, by_component['mysql.commit'].2, by_component['mysql.commit'].3,
    by_component['mysql.commit'].4,
    by_component['memcache.connect'].1, by_component['memcache.connect'].2, by_component['memcache.connect'].3,
    by_component['memcache.connect'].4,
    by_component['memcache.get'].1, by_component['memcache.get'].2, by_component['memcache.get'].3,
    by_component['memcache.get'].4,
    by_component['memcache.set'].1, by_component['memcache.set'].2, by_component['memcache.set'].3,
    by_component['memcache.set'].4,
    by_component['memcache.delete'].1, by_component['memcache.delete'].2, by_component['memcache.delete'].3,
    by_component['memcache.delete'].4,
    by_component['memcache.incr'].1, by_component['memcache.incr'].2, by_component['memcache.incr'].3,
    by_component['memcache.incr'].4,
    by_component['http.connect'].1, by_component['http.connect'].2, by_component['http.connect'].3,
    by_component['http.connect'].4,
    by_component['http.request'].1, by_component['http.request'].2, by_component['http.request'].3,
    by_component['http.request'].4,
    mapApply((component, counters) -> (component, counters.1), custom) AS custom_calls,
    mapApply((component, counters) -> (component, counters.2), custom) AS custom_time_ns,
    mapApply((component, counters) -> (component, counters.3), custom) AS custom_max_ns,
    mapApply((component, counters) -> (component, counters.4),
        mapFilter((component, counters) -> counters.4 != 0, custom)) AS custom_errors,
    arrayMap(name -> name[1], target_names), arrayMap(name -> name[2], target_names), target_rows.3,
    arrayMap(entry -> -entry.1, target_rows), target_rows.4,
    arrayMap(entry -> 0, target_rows), arrayMap(entry -> 0, target_rows),
    statement_rows.2, statement_rows.3, arrayMap(entry -> -entry.1, statement_rows), statement_rows.4,
    mapConcat(
        mapFilter((key, value) -> key NOT IN ('http.request.method', 'http.method', 'http.response.status_code',
                'http.status_code', 'user.id', 'enduser.id', 'error.type'), attributes),
        if(is_crowded_out, map('walltime.name', full_name), map()),
        bills.after_response),
    resource
FROM
(
    SELECT *
    FROM spans
    WHERE (trace_id, span_id) IN (SELECT trace_id, span_id FROM roots) AND trace_id IN (SELECT trace_id FROM roots)
        AND started_at BETWEEN fromUnixTimestamp64Nano({first_ns:Int64}, 'UTC')
            AND fromUnixTimestamp64Nano({last_ns:Int64}, 'UTC') AND component = ''
    LIMIT 1 BY trace_id, span_id
) AS root
INNER JOIN bills ON bills.trace_id = root.trace_id AND bills.root_id = root.span_id
