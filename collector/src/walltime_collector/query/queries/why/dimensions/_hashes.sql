    -- the hashes of _values.sql, without making those texts: half of the CPU time
    arrayConcat(
        [cityHash64('host', host), cityHash64('version', version), cityHash64('environment', environment), cityHash64('user', user),
         cityHash64('status', multiIf(http_status > 0, concat(toString(intDiv(http_status, 100)), 'xx'), is_error, 'failed', '')), cityHash64('method', method), cityHash64('error type', error_type),
         cityHash64('instance', instance)],
        arrayMap((key, text) -> cityHash64('annotation', concat(key, '=', text)), mapKeys(attributes), mapValues(attributes)))
