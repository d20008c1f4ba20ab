        -- a log may have a name that is no address
        AND $__conditionalAll(server IN (${server:singlequote}) OR position(server, ':') = 0, $server)
