    -- some transactions that were kept by chance, a fair sample, of kinds that call these: id, and how many each stands for.
    -- Chosen by the first bytes of their id, so that their calls lie together
    , (
        SELECT groupArray((trace_id, of_each))
        FROM
        (
            SELECT trace_id, count() OVER () / least(400, count() OVER ()) / probability AS of_each
            FROM
            (
                SELECT
                    trace_id, service, name AS kind, version, host, environment, attributes, started_at, kept,
                    sample_probability AS probability
                FROM transactions
            )
            WHERE kept = 'random' AND probability > 0 AND started_at >= from_at AND started_at < to_at
                AND (service, kind) IN (
                    SELECT service, kind FROM servers_by_minute
                    WHERE match(component, '^(?:{of})[.]') AND minute >= toStartOfMinute(from_at) AND minute < to_at)
                -- include chosen
            ORDER BY cityHash64(substring(trace_id, 1, 2)), trace_id
            LIMIT 400
        )
    ) AS sampled
