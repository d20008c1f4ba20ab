            sum(k.transactions) AS transactions, sum(k.errors) AS errors,
            sum(k.status_4xx) AS status_4xx, sum(k.status_5xx) AS status_5xx,
            sum(k.duration_ns) AS duration_ns, max(k.max_ns) AS max_ns,
            quantilesTDigestMerge(0.5, 0.95, 0.99)(k.percentiles_ns) AS percentiles_ns,
            sum(k.cpu_ns) AS cpu_ns, sum(k.cpu_known) AS cpu_known,
            sum(k.cpu_wait_ns) AS cpu_wait_ns, sum(k.cpu_wait_known) AS cpu_wait_known,
            sum(k.loop_wait_ns) AS loop_wait_ns, sum(k.loop_wait_known) AS loop_wait_known,
            sum(k.queue_ns) AS queue_ns, sum(k.queue_known) AS queue_known,
            sum(k.queries) AS queries, sum(k.cache_hits) AS cache_hits, sum(k.cache_misses) AS cache_misses
