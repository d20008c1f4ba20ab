                AND service != 'walltime.doctor'
                AND $__conditionalAll(service IN (${service:singlequote}), $service)
                AND $__conditionalAll(kind IN (${kind:singlequote}), $kind)
                AND $__conditionalAll(version IN (${version:singlequote}), $version)
                AND $__conditionalAll(host IN (${host:singlequote}), $host)
                AND $__conditionalAll(environment IN (${environment:singlequote}), $environment)
                AND (${filter:singlequote} = '' OR match(${filter:singlequote}, '^ *[^ =][^=]*=') AND attributes[extract(${filter:singlequote}, '^ *([^=]*?) *=')] = extract(${filter:singlequote}, '= *(.*?) *$'))
