    (
        SELECT
            trace_id, span_id, parent_span_id, started_at, duration_ns, service, toString(kind) AS span_kind, toString(component) AS component,
            status = 'error' AS has_failed, status_message, attributes, resource,
            arrayFilter(text -> text != '', [
                attributes['db.query.text'], attributes[concat('walltime.', splitByChar('.', component)[1], '.key')], attributes['url.full'],
                attributes['db.statement'], attributes['http.url']])[1] AS text,
            trim(concat(if(component = '', name, component), ' ', if(text = name, '', text))) AS called,
            concat(attributes['server.address'], if(attributes['server.port'] = '', '', ':'), attributes['server.port']) AS server,
            arrayFilter(path -> path != '', [attributes['code.file.path'], attributes['code.filepath']])[1] AS path,
            arrayFilter(line -> line != '', [attributes['code.line.number'], attributes['code.lineno']])[1] AS line_number,
            if(path = '', '', concat(arrayStringConcat(arraySlice(splitByChar('/', path), -2), '/'), if(line_number = '', '', ':'), line_number)) AS line
        FROM spans
        WHERE trace_id = shown AND span_id NOT IN (SELECT span_id FROM transactions WHERE trace_id = shown)
    )
