    -- the filters of a Scope other than service and kind; a comparison with an empty parameter is folded away with its column
    AND ({host:String} = '' OR host = {host:String})
    AND ({version:String} = '' OR version = {version:String})
    AND ({environment:String} = '' OR environment = {environment:String})
    AND ({user:String} = '' OR user = {user:String})
    AND ({status:String} = '' OR if({status:String} = 'failed', is_error, if(endsWith({status:String}, 'xx'), toString(intDiv(http_status, 100)) || 'xx', toString(http_status)) = {status:String}))
    AND ({annotation_key:String} = '' OR attributes[{annotation_key:String}] = {annotation_value:String})
    -- where
