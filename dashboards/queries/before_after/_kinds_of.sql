        SELECT
            service, kind, sum(number) AS transactions, sum(failures) AS errors, sum(spent) AS duration_ns,
            quantilesTDigestMerge(0.5, 0.95, 0.99)(percentiles)[2] AS p95_ns, groupArray(spent / number) AS means
        FROM
        (
            SELECT
                service, kind, time, sum(k.transactions) AS number, sum(k.errors) AS failures, sum(k.duration_ns) AS spent,
                quantilesTDigestMergeState(0.5, 0.95, 0.99)(percentiles_ns) AS percentiles
            FROM
            -- include kinds
            AS k
            WHERE $__conditionalAll(version IN (${{of}:singlequote}), {is})
            GROUP BY service, kind, time
            HAVING number > 0
        )
        GROUP BY service, kind
