-- include servers/_of_steps.sql
    max(s.connections) AS most_connected,
    max(s.bytes) AS most_bytes,
    argMax(s.max_bytes, at) AS max_bytes,
    sum(s.hits * part) AS hits,
    sum(s.misses * part) AS misses,
    sum(s.evictions * part) AS evictions,
    sum(s.expired * part) AS expired,
    sum(s.commands * part) AS commands
