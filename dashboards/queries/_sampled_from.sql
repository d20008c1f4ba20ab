            FROM
            (
                SELECT
                    trace_id, service, name AS kind, version, host, environment, attributes, started_at, kept,
                    sample_probability AS probability
                FROM {table}
            )
            WHERE kept = 'random' AND probability > 0 AND started_at >= from_at AND started_at < to_at
                AND (service, kind) IN (
                    SELECT service, kind FROM servers_by_minute
                    WHERE match(component, '^(?:{of})[.]') AND minute >= toStartOfMinute(from_at) AND minute < to_at)
                -- include chosen
