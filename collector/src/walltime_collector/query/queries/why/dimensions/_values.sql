    -- the values of a transaction in every dimension, each once, as (dimension, value); the same list as DIMENSIONS in why/answer.py
    arrayFilter(each -> each.2 NOT IN ('', '(other)'), arrayConcat(
        [('host', toString(host)), ('version', toString(version)), ('environment', toString(environment)), ('user', user),
         ('status', multiIf(http_status > 0, concat(toString(intDiv(http_status, 100)), 'xx'), is_error, 'failed', '')), ('method', toString(method)),
         ('error type', toString(error_type)), ('instance', toString(instance))],
        arrayFilter(each -> NOT startsWith(each.2, 'walltime.'),
            arrayMap((key, text) -> ('annotation', concat(key, '=', text)), mapKeys(attributes), mapValues(attributes)))))
