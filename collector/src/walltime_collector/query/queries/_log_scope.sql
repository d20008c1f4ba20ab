    -- the entries of the slow log that are about a Scope; with another filter than the service, by their trace id
    started_at >= fromUnixTimestamp64Micro(intDiv({start_ns:Int64}, 1000), 'UTC') AND started_at < fromUnixTimestamp64Micro(intDiv({end_ns:Int64}, 1000), 'UTC')
    AND ({fingerprint_id:UInt64} = 0 OR fingerprint_id = {fingerprint_id:UInt64})
    AND ({service:String} = '' OR service = {service:String} OR service = '' AND trace_id IN (
        -- its comment names the transaction, but not the service
        SELECT trace_id
        FROM transactions
        WHERE {service:String} != '' AND service = {service:String} AND trace_id IN (
            SELECT trace_id
            FROM slow_queries
            WHERE {service:String} != '' AND started_at >= fromUnixTimestamp64Micro(intDiv({start_ns:Int64}, 1000), 'UTC')
                AND service = '' AND trace_id != toFixedString('', 16))))
    AND (NOT {is_by_transaction:Bool} OR trace_id IN (
        SELECT trace_id
        FROM transactions
        WHERE {is_by_transaction:Bool} AND trace_id IN (
            SELECT trace_id
            FROM slow_queries
            WHERE {is_by_transaction:Bool} AND started_at >= fromUnixTimestamp64Micro(intDiv({start_ns:Int64}, 1000), 'UTC')
                AND trace_id != toFixedString('', 16)) AND
-- include _scope.sql
    ))
