    -- the value of one dimension; conditions that are constant are folded away with their columns
    if({mix_field:String} = 'version', toString(version), if({mix_field:String} = 'host', toString(host),
    if({mix_field:String} = 'environment', toString(environment), if({mix_field:String} = 'instance', toString(instance),
    if({mix_field:String} = 'status', multiIf(http_status > 0, concat(toString(intDiv(http_status, 100)), 'xx'), is_error, 'failed', ''),
    if({mix_field:String} = 'method', toString(method), if({mix_field:String} = 'error.type', toString(error_type),
    if({mix_field:String} = 'user', user, attributes[substring({mix_field:String}, 12)]))))))))
