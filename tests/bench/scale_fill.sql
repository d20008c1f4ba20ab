-- Copies of the sampled transactions, or of their calls. Each copy has trace ids of its own, and its transactions are spread
-- over the step_ns after those of the copy before it; what belongs to one trace moves together.
INSERT INTO {table:Identifier}
SELECT
    * EXCEPT (copy, sampled_id, began_ns) REPLACE (
        sipHash128(sampled_id, copy) AS trace_id,
        addNanoseconds(
            started_at,
            {from_ns:Int64} + copy * {step_ns:Int64} + toInt64(cityHash64(sampled_id, copy) % {step_ns:UInt64}) - began_ns
        ) AS started_at)
FROM
(
    SELECT
        *,
        trace_id AS sampled_id,
        (SELECT toUnixTimestamp64Nano(min(started_at)) FROM sample_transactions) AS began_ns,
        arrayJoin((SELECT groupArray(toInt64(number)) FROM numbers({first:UInt64}, {copies:UInt64}))) AS copy
    FROM {sample:Identifier}
)
