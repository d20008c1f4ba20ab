            sum(k.transactions) AS transactions, sum(k.errors) AS errors,
            quantilesTDigestMerge(0.5, 0.95, 0.99)(k.percentiles_ns) AS percentiles_ns,
            sum(k.cpu_ns) AS cpu_ns, sum(k.cpu_known) AS cpu_known,
            sum(k.cpu_wait_ns) AS cpu_wait_ns, sum(k.cpu_wait_known) AS cpu_wait_known,
            sum(k.queue_ns) AS queue_ns, sum(k.queue_known) AS queue_known
