            sum(k.transactions) AS transactions, sum(k.errors) AS errors,
            sum(k.duration_ns) AS duration_ns, max(k.max_ns) AS max_ns,
            quantilesTDigestMerge(0.5, 0.95, 0.99)(k.percentiles_ns) AS percentiles_ns
