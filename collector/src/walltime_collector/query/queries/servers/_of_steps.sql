    -- what each server says, of _said.sql, as sums of parts of its answers
    sum(part_ns) AS over_ns,
    argMax(s.version, at) AS version,
    argMax(s.uptime_s, at) AS uptime_s,
    argMax(s.max_connections, at) AS max_connections,
    sum(s.refused_connections * part) AS refused_connections,
