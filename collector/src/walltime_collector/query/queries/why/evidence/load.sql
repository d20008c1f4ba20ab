-- What did the database spend these statements' time on, and how loaded was one server? A usual statement counts as often as those of
-- its fingerprint on the slow side. The load is that of the seconds in which more transactions than on average are slow, and of the
-- others. Blocks of transactions [statements, ns of each part] and seconds are for the test.
SELECT *
FROM
(
    SELECT
        if(is_slow, 'slow', 'usual') AS side,
        sum(own_logged) AS logged,
        sums[1] AS statements,
        sumForEach(numbers) AS sums,
        sums[2] / sums[1] AS query_ns,
        sums[3] / sums[1] AS locked_ns,
        sums[4] / sums[1] AS disk_ns,
        sums[5] / sums[1] AS computing_ns,
        sums[6] / greatest(sums[2], 1) AS disk_unknown,
        sums[7] / greatest(sums[2], 1) AS computing_unknown,
        arrayMap(each -> each.2, arraySort(groupArray((block, numbers)))) AS blocks
    FROM
    (
        SELECT is_slow, block, sum(own[1]) AS own_logged, sumForEach(arrayMap(each -> each * counts, own)) AS numbers
        FROM
        (
            SELECT
                is_slow, block, own,
                sumIf(own[1], is_slow) OVER (PARTITION BY fingerprint_id) AS slow_calls,
                sumIf(own[1], NOT is_slow) OVER (PARTITION BY fingerprint_id) AS usual_calls,
                multiIf(least(slow_calls, usual_calls) = 0, 0, is_slow, 1, slow_calls / usual_calls) AS counts
            FROM
            (
                SELECT is_slow, block, fingerprint_id, sumForEach(arrayMap(each -> each * of_transaction * entries, spent)) AS own
                FROM
                (
                    SELECT
                        trace_id, span_id, is_slow, weight AS of_transaction,
                        least(countIf(is_slow) OVER (), countIf(NOT is_slow) OVER ()) AS fewer,
                        row_number() OVER (PARTITION BY is_slow ORDER BY started_at, trace_id, span_id) - 1 AS place,
                        intDiv(place, greatest(intDiv(fewer, 64), 1)) AS block
                    FROM
                    (
                        WITH
-- include why/_compared.sql
                            ,
-- include why/_weight.sql
                        SELECT trace_id, span_id, started_at, is_slow, weight
                        FROM transactions
                        WHERE is_compared
                    )
                ) AS of_a_side
                INNER JOIN
                (
                    SELECT
                        trace_id, span_id, fingerprint_id, slow_queries.weight AS entries,
                        arrayMap(each -> toFloat64(each), [1, query_ns, locked_ns, disk_ns, computing_ns,
                            query_ns * NOT is_disk_known, query_ns * NOT is_cpu_known]) AS spent
                    FROM slow_queries
                    WHERE fingerprint_id IN {fingerprints:Array(UInt64)} AND trace_id != toFixedString('', 16)
                        AND (started_at >= fromUnixTimestamp64Nano({slow_start_ns:Int64}, 'UTC') - INTERVAL 1 MINUTE
                            AND started_at < fromUnixTimestamp64Nano({slow_end_ns:Int64}, 'UTC') + INTERVAL 1 HOUR
                            OR started_at >= fromUnixTimestamp64Nano({usual_start_ns:Int64}, 'UTC') - INTERVAL 1 MINUTE
                            AND started_at < fromUnixTimestamp64Nano({usual_end_ns:Int64}, 'UTC') + INTERVAL 1 HOUR)
                        AND trace_id IN (
                            WITH
-- include why/_compared.sql
                            SELECT trace_id
                            FROM transactions
                            WHERE is_compared)
                ) AS logged USING (trace_id, span_id)
                GROUP BY is_slow, block, fingerprint_id
            )
        )
        GROUP BY is_slow, block
    )
    GROUP BY side
    HAVING statements > 0
) AS spent
FULL JOIN
(
    SELECT
        if(is_slow_second, 'slow', 'usual') AS side,
        count() AS seconds,
        avg(figures[1]) AS threads_running,
        avg(figures[2]) AS page_misses,
        avg(figures[3]) AS rows_read,
        avg(figures[4]) AS rows_changed,
        avg(figures[5]) AS tmp_tables_on_disk,
        avg(figures[6]) AS history_list,
        avg(figures[7]) AS replication_lag_s,
        arrayMap(each -> each.2, arraySort(groupArray((second, figures)))) AS by_second
    FROM
    (
        SELECT second, sum(is_slow) AS slow, count() AS every, slow / every > sum(slow) OVER () / sum(every) OVER () AS is_slow_second
        FROM
        (
            WITH
                intDiv(toUnixTimestamp64Nano(started_at), 1000000000) AS first,
-- include why/_compared.sql
            SELECT is_slow, first + arrayJoin(range(least(intDiv(toUnixTimestamp64Nano(started_at) + duration_ns, 1000000000) - first, 60) + 1)) AS second
            FROM transactions
            WHERE is_compared
        )
        GROUP BY second
    ) AS ran
    INNER JOIN
    (
        SELECT
            intDiv(toUnixTimestamp64Milli(at) - intDiv(over_ns, 2000000), 1000) AS second,
            greatest(over_ns, 1) / 1e9 AS over_s,
            [toFloat64(mysql_status.threads_running), mysql_status.page_misses / over_s, mysql_status.rows_read / over_s,
                mysql_status.rows_changed / over_s, mysql_status.tmp_tables_on_disk / over_s,
                toFloat64(mysql_status.history_list), mysql_status.replication_lag_s] AS figures
        FROM mysql_status
        WHERE server = {server:String}
            AND (at >= fromUnixTimestamp64Nano({slow_start_ns:Int64}, 'UTC')
                AND at < fromUnixTimestamp64Nano({slow_end_ns:Int64}, 'UTC') + INTERVAL 1 MINUTE
                OR at >= fromUnixTimestamp64Nano({usual_start_ns:Int64}, 'UTC')
                AND at < fromUnixTimestamp64Nano({usual_end_ns:Int64}, 'UTC') + INTERVAL 1 MINUTE)
    ) AS status USING (second)
    GROUP BY side
) AS loaded USING (side)
ORDER BY side
