-- How many transactions of a Scope are in the sample, with any filters and with these?
SELECT
    count() AS transactions,
    countIf(true
-- include _filters.sql
    ) AS matching
FROM {source:Identifier} AS transactions
WHERE started_at >= fromUnixTimestamp64Nano({start_ns:Int64}, 'UTC') AND started_at < fromUnixTimestamp64Nano({end_ns:Int64}, 'UTC')
    AND bitCount(bitXor(cityHash64(trace_id), cityHash64(trace_id) - 1)) > {sample_level:UInt8}
    AND ({service:String} = '' AND service != 'walltime.doctor' OR service = {service:String})
    AND ({kind:String} = '' OR name = {kind:String})
