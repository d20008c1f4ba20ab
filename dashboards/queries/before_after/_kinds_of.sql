        SELECT
            service, kind, sum(k.transactions) AS transactions, sum(k.errors) AS errors, sum(k.duration_ns) AS duration_ns,
            quantilesTDigestMerge(0.5, 0.95, 0.99)(percentiles_ns)[2] AS p95_ns
        FROM
        -- include kinds
        AS k
        WHERE $__conditionalAll(version IN (${{of}:singlequote}), {is})
        GROUP BY service, kind
