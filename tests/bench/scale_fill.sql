-- Copies of the sampled transactions, or of their calls: each copy has trace ids of its own, and comes step_ns after the one
-- before it.
INSERT INTO {table:Identifier}
SELECT
    * EXCEPT copy REPLACE (
        sipHash128(trace_id, copy) AS trace_id,
        addNanoseconds(
            started_at,
            {from_ns:Int64} + copy * {step_ns:Int64} - (SELECT toUnixTimestamp64Nano(min(started_at)) FROM sample_transactions)
        ) AS started_at)
FROM
(
    SELECT *, arrayJoin((SELECT groupArray(toInt64(number)) FROM numbers({first:UInt64}, {copies:UInt64}))) AS copy
    FROM {sample:Identifier}
)
