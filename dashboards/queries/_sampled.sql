    -- some transactions that were kept by chance, a fair sample, of kinds that call these: id, and how many each stands for.
    -- Chosen by the first bytes of their id, so that their calls lie together; where the table with one in 16 has enough,
    -- of that one
    , (
        SELECT count() >= 4000
        -- include sampled_from table=sampled_transactions of={of}
    ) AS is_many
    , (
        SELECT groupArray((trace_id, of_each))
        FROM
        (
            SELECT trace_id, one_in * count() OVER () / least(400, count() OVER ()) / probability AS of_each
            FROM
            (
                SELECT trace_id, probability, 1 AS one_in
                -- include sampled_from table=transactions of={of}
                AND NOT is_many
                UNION ALL
                SELECT trace_id, probability, 16 AS one_in
                -- include sampled_from table=sampled_transactions of={of}
                AND is_many
            )
            ORDER BY cityHash64(substring(trace_id, 1, 2)), trace_id
            LIMIT 400
        )
    ) AS sampled
